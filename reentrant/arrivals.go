package reentrant

import (
	"sync/atomic"
	"time"
)

// arrivals numbers the tickets of a Client. No two tickets have the same number, not even those of calls that came in the same
// microsecond, or after the clock was set back.
type arrivals struct{ last atomic.Uint64 }

// next is the instant in microseconds of Unix time, and always more than the number before.
func (a *arrivals) next(at time.Time) uint64 {
	for {
		last := a.last.Load()
		number := max(last+1, uint64(at.UnixMicro()))
		if a.last.CompareAndSwap(last, number) {
			return number
		}
	}
}
