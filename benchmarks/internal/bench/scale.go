//go:build unix

package bench

import (
	"context"
	"fmt"
)

// sample is a figure of one run of a workload of scale.
type sample struct {
	what    string
	unit    Unit
	value   float64
	limited bool
	atMost  float64
}

// most sets a limit.
func (s sample) most(limit float64) sample {
	s.limited, s.atMost = true, limit
	return s
}

// sizes are a tenth of a workload of scale, and all of it.
func sizes(w Workload, cfg Config) []int {
	all := w.size(cfg)
	return []int{max(w.Processes, all/10), all}
}

// scale runs one workload at its sizes in turn, round by round.
func (r *runner) scale(ctx context.Context, w Workload) (Scaling, error) {
	s := Scaling{Name: w.Name, Title: w.Title, Of: w.of, Sizes: sizes(w, r.cfg)}
	if w.note != nil {
		s.Note = w.note(r.cfg)
	}
	for range r.rounds(w) {
		for i, size := range s.Sizes {
			r.step(fmt.Sprintf("%s: %d %s", w.Name, size, w.of))
			samples, err := w.measure(r, ctx, w, size)
			if err != nil {
				return s, fmt.Errorf("%s: %d %s: %w", w.Name, size, w.of, err)
			}
			s.add(i, samples)
		}
	}
	s.finish()
	return s, nil
}

// finish fills in the medians.
func (s *Scaling) finish() {
	for i := range s.Figures {
		f := &s.Figures[i]
		for _, values := range f.Rounds {
			f.Values = append(f.Values, median(values))
		}
	}
}

// add notes a round. Limits are those of the full size, which comes last.
func (s *Scaling) add(size int, samples []sample) {
	if s.Figures == nil {
		s.Figures = make([]Figure, len(samples))
	}
	for i, one := range samples {
		f := &s.Figures[i]
		if f.Rounds == nil {
			f.Rounds = make([][]float64, len(s.Sizes))
		}
		f.What, f.Unit, f.Limited, f.AtMost = one.what, one.unit, one.limited, one.atMost
		f.Rounds[size] = append(f.Rounds[size], one.value)
	}
}
