package load

import (
	"slices"
	"time"
)

// recorder keeps a goroutine's waits in chunks, so that none is ever copied while
// the goroutine is being measured.
type recorder struct {
	acquired int
	full     [][]time.Duration
	last     []time.Duration
}

const chunk = 4096

func newRecorder() *recorder {
	return &recorder{last: make([]time.Duration, 0, chunk)}
}

func (r *recorder) add(wait time.Duration) {
	if len(r.last) == cap(r.last) {
		r.full = append(r.full, r.last)
		r.last = make([]time.Duration, 0, chunk)
	}
	r.last = append(r.last, wait)
}

func (r *recorder) served() Served {
	return Served{Acquired: r.acquired, Waits: slices.Concat(append(r.full, r.last)...)}
}
