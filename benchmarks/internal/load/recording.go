package load

import (
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/clock"
)

// Recording is what one process has seen.
type Recording struct {
	Goroutines []Served
	Handoffs   []Handoff // PingPong
	Violations int       // how often somebody else was inside
	Objects    uint64    // allocated by the process in the window
	Failure    string    // an error that the work ended with
	Held       *Keeping  // Held
	Cost       *Cost     // Crowd, Churn
}

// Served is what one goroutine got. A wait is counted when it ends within the
// window; one that the end of the window cuts off is in Waits with the time it had
// lasted, and not in Acquired: the goroutine that is never served must be seen.
type Served struct {
	Acquired int
	Waits    []time.Duration
}

// Handoff is one hold that both sides of a ping-pong are needed to judge.
type Handoff struct {
	Process   int
	Got, Left clock.Instant // Left is just before the release
}

// ErrTwoHolders means that a lock was held by two at the same time.
var ErrTwoHolders = errors.New("two holders of one lock at the same time")

// Acquired counts the acquisitions of all processes.
func Acquired(recs []Recording) (n int) {
	for _, rec := range recs {
		for _, g := range rec.Goroutines {
			n += g.Acquired
		}
	}
	return n
}

// Excluded is ErrTwoHolders unless each lock had one holder at a time.
func Excluded(recs []Recording) error {
	n := 0
	for _, rec := range recs {
		n += rec.Violations
	}
	if n > 0 {
		return fmt.Errorf("%w: %d times", ErrTwoHolders, n)
	}
	return nil
}
