package worker

import (
	"errors"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/register"
	"github.com/redlatch/redlatch/reentrant"
)

// Spec is what a worker works on.
type Spec struct {
	Redis    string        // address
	Register string        // URL of a register.Server; may be empty if nothing is to be read
	Lock     string        // name; it has fencing
	Kind     string        // of the lock: plain, fair or write; empty: plain
	Lease    time.Duration // which the watchdog renews
	Busy     int           // goroutines that compute without pause; if there are any, they and the worker have one thread
}

// Verb is what a worker is to do.
type Verb string

// A worker has one hold at a time, with one owner.
const (
	Lock     Verb = "lock"     // acquire the lock, waiting for it
	Enter    Verb = "enter"    // acquire it once more, with the hold's ctx, as a nested call does
	Read     Verb = "read"     // read the register
	Write    Verb = "write"    // write to it what was read, raised by one, without looking at the lock
	Look     Verb = "look"     // ask what there is to ask about the hold
	Lost     Verb = "lost"     // wait until the hold is lost
	Unlock   Verb = "unlock"   // release the hold
	Increase Verb = "increase" // N times Lock, Read, Write, Unlock; what fails is counted and gone over
)

// Step is one thing to do.
type Step struct {
	Verb Verb
	N    int // of Increase
}

// Report says what came of a step.
type Report struct {
	Err  string   // empty if there was none
	Is   []string // the names of the errors that it is, of those in sentinels
	Took time.Duration

	// On this machine's wall clock, which all processes share: when the step began, and how
	// long the hold was valid then, or, of a Lock, when it was granted.
	Began, Valid time.Time

	Token   int64  // of the hold
	Trusted bool   // neither its ctx has ended nor has ValidUntil passed
	Cause   string // why its ctx has ended

	Reading register.Reading // Read
	Refused bool             // Read, Write: the fenced register did not agree

	Held  bool // Look: what IsHeld says
	Count int  // Look: what HoldCount says

	Accepted, Turned, Losses int // Increase: writes that the fenced register took, those it refused, holds lost
}

// sentinels are the errors that a report can name.
var sentinels = map[string]error{
	"ErrLost":        reentrant.ErrLost,
	"ErrNotHeld":     reentrant.ErrNotHeld,
	"ErrNotAcquired": reentrant.ErrNotAcquired,
	"ErrUnconfirmed": reentrant.ErrUnconfirmed,
}

func (r *Report) failed(err error) {
	if err == nil {
		return
	}
	r.Err = err.Error()
	for name, sentinel := range sentinels {
		if errors.Is(err, sentinel) {
			r.Is = append(r.Is, name)
		}
	}
	slices.Sort(r.Is)
}

// Was reports whether the step failed with the error of that name.
func (r Report) Was(sentinel string) bool { return slices.Contains(r.Is, sentinel) }
