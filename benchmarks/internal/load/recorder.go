package load

import (
	"slices"
	"time"
)

// recorder keeps a goroutine's waits in chunks, so that none is ever copied while
// the goroutine is being measured. In a slice it only counts.
type recorder struct {
	brief    bool
	acquired int
	full     [][]time.Duration
	last     []time.Duration
}

const chunk = 4096

func newRecorder(brief bool) *recorder {
	if brief {
		return &recorder{brief: true}
	}
	return &recorder{last: make([]time.Duration, 0, chunk)}
}

func (r *recorder) add(wait time.Duration) {
	if r.brief {
		return
	}
	if len(r.last) == cap(r.last) {
		r.full = append(r.full, r.last)
		r.last = make([]time.Duration, 0, chunk)
	}
	r.last = append(r.last, wait)
}

func (r *recorder) served() Served {
	return Served{Acquired: r.acquired, Waits: slices.Concat(append(r.full, r.last)...)}
}
