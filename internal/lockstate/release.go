package lockstate

import (
	"time"

	"github.com/redlatch/redlatch/watchdog"
)

// Step is what follows from the release of a hold.
type Step int8

const (
	Free       Step = iota // it was the last hold: hand the lock over, or free it in Redis (of a shared lease, the root)
	SetCount               // other holds are left: tell Redis how many
	HandedOver             // a waiter has the lock already: nothing to send
	Loss                   // the lock was lost, and the watchdog has not seen it yet
	Nested                 // refused, and nothing was changed: the owner has other holds
	NoneToTake             // refused: the owner's holds are all values in their callers' hands
	Local                  // other holds or owners of a shared lease are left: nothing to send
)

// Hold says which hold of an ownership is to be released.
type Hold struct {
	Kind HoldKind // Handle: a hold of that kind; otherwise the last that is in no caller's hands

	// If above 0, no owner can take the lock for so long after the release. Nobody is the field that
	// takes the place of the owner's. It is for an owner's only hold.
	After  time.Duration
	Nobody string
}

// Release takes a hold out of a live ownership.
func (s *State) Release(o *Ownership, h *Hold, now time.Time) Step {
	until := o.lease.ValidUntil()
	if watchdog.Left(until, now) <= 0 {
		// The process was stopped.
		s.lost(o, LeaseEnded, now)
		if h.Kind.Handle {
			s.Forgo(o, h.Kind)
		} else {
			s.takeLoss(o.losses)
		}
		return Loss
	}
	kind, found := h.Kind, true
	if !kind.Handle {
		kind, found = toUnlock(o.holds)
	}
	switch {
	case h.After > 0 && (len(o.holds) > 1 || o.mode == Exclusive && !s.alone(o)): // the others would have to be ended, or to be without a lock
		return Nested
	case !found:
		return NoneToTake
	case o.Reader():
		return s.releaseReader(o, kind, now)
	case h.After > 0:
		o.lease.parting = &Parting{Nobody: h.Nobody, Until: now.Add(h.After), expires: o.lease.Expiry(now)}
		o.lease.asked(h.After, HoldKind{Fixed: true}, now) // a release that is not confirmed has to reckon with it
	}
	if len(o.holds) == 1 && s.handOverUnasked(o, now, until) {
		return HandedOver
	}
	o.pop(kind, now)
	if o.state == Releasing {
		return Free
	}
	return SetCount
}

// Answer is what the answer to a release says.
type Answer int8

const (
	Done       Answer = iota // the lock is free, or another owner's
	NotOurs                  // the owner's field was not there
	Unanswered               // the outcome is unknown, or Redis has refused
)

// Released ends an ownership by the answer to its release. It returns true if the lock was lost before.
func (s *State) Released(o *Ownership, a Answer, now time.Time) (lost bool) {
	s.budget.reset(now)
	if a == Unanswered {
		s.cleanUpRelease(o.lease)
	}
	// For the ownership it is the end of a release, also if that has found a loss.
	s.end(o, Ending{How: Released, At: now})
	s.promote()
	return a == NotOurs
}

// SendCount returns the hold count to send, while the ownership is live. It may be other than 1.
func (s *State) SendCount(o *Ownership) (count int, ok bool) {
	if o.state != Live {
		return 0, false
	}
	o.lease.field.counted(o, true)
	return len(o.holds), true
}
