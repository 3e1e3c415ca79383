package reentrant_test

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// recording is what has been seen of a scene so far.
type recording struct {
	began time.Time

	mu    sync.Mutex
	lines []traceLine
	step  int
	loose bool // the times are not to be told: they have jitter
	vague bool // durations neither: the scene has been loose
	over  bool
}

type traceLine struct {
	step      int
	at        time.Duration
	window    time.Duration // of a loose line: the end of the time in which it was
	loose     bool
	who, what string
}

// note writes a line.
func (r *recording) note(who, what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	if r.vague {
		what = withoutDurations(what)
	}
	r.lines = append(r.lines, traceLine{step: r.step, at: time.Since(r.began), loose: r.loose, who: who, what: what})
}

// next begins a step. What happens at one instant of one step has no order: it is sorted by who.
func (r *recording) next() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.step++
}

// setLoose begins a time with jitter, and ends it.
func (r *recording) setLoose(loose bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.step++
	r.loose, r.vague = loose, true
	if loose {
		return
	}
	for i := len(r.lines) - 1; i >= 0 && r.lines[i].loose && r.lines[i].window == 0; i-- {
		r.lines[i].window = time.Since(r.began)
	}
}

func (r *recording) isLoose() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.loose
}

// String is the trace.
func (r *recording) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	slices.SortStableFunc(r.lines, func(a, b traceLine) int {
		return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.at, b.at), strings.Compare(a.who, b.who))
	})
	var b strings.Builder
	for _, l := range withoutRepeats(r.lines) {
		at := ""
		if at = "+" + short(l.at); l.loose {
			at = "<+" + short(l.window)
		}
		fmt.Fprintf(&b, "%10s  %-8s  %s\n", at, l.who, l.what)
	}
	return b.String()
}

// withoutRepeats tells once what comes more than once in a time with jitter: how often is jitter too.
func withoutRepeats(lines []traceLine) []traceLine {
	type line struct {
		window    time.Duration
		who, what string
	}
	seen := make(map[line]bool)
	return slices.DeleteFunc(lines, func(l traceLine) bool {
		key := line{l.window, l.who, l.what}
		again := l.loose && seen[key]
		seen[key] = true
		return again
	})
}

// short is a duration to a tenth of a millisecond.
func short(d time.Duration) string {
	d = d.Round(100 * time.Microsecond)
	if d < time.Second {
		return fmt.Sprint(float64(d.Microseconds())/1000, "ms")
	}
	return d.String()
}

var durations = regexp.MustCompile(`(lease )?\b(\d+(\.\d+)?(h|ms|µs|ns|m|s))+\b`)

// withoutDurations leaves those of leases only, which have no jitter.
func withoutDurations(s string) string {
	return durations.ReplaceAllStringFunc(s, func(d string) string {
		if strings.HasPrefix(d, "lease ") {
			return d
		}
		return "…"
	})
}
