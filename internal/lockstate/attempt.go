package lockstate

import (
	"slices"
	"time"

	"github.com/redlatch/redlatch/watchdog"
)

// MaybeRegistered is an arrival that is not known: the attempt that may have registered the Client was
// not answered.
const MaybeRegistered = -1

// Refusal says why this Client gives back a lock that Redis has just granted.
type Refusal int8

const (
	Accepted    Refusal = iota
	CallLeft            // the call has left
	Closing             // the Client closes
	FewReplicas         // replicas are missing
	TooLate             // the lease is over already
	Again               // not given back: the shared lease ended meanwhile, and the waiter asks anew
)

// BeginAttempt reports whether a waiter still leads, and notes its attempt, which is about to be sent.
func (s *State) BeginAttempt(w *Waiter, now time.Time) (leads bool) {
	if w.state != Leading {
		return false
	}
	s.CommandBegun(now)
	return true
}

// Granted makes a waiter's owner an owner of the lock, after the answer to its attempt. If the Client
// refuses the grant, the ownership is already being released, and the engine sends that.
func (s *State) Granted(w *Waiter, g Grant, now time.Time) (*Ownership, Refusal) {
	s.CommandEnded()
	if w.SharedField != "" {
		return s.grantShared(w, g, now)
	}
	o := s.granted(w, g, now)
	if refusal := s.refusal(o, w, g, now); refusal != Accepted {
		o.refused = true
		o.beginRelease(now)
		return o, refusal
	}
	s.grant(w, o)
	return o, Accepted
}

// GrantedByRelease makes a waiter's owner an owner of the lock, after the message that a release has granted
// it. The lease of g is the claim. It returns nil if the waiter is to make an attempt instead, which finds its
// owner's field in Redis: too little of the claim is left to renew it twice, or the attempt was for an owner that
// has left, or the waiter does not lead any more, or the Client closes; or other owners of the Client seem to have
// the lock: then the attempt finds out what they have (Disprove).
func (s *State) GrantedByRelease(w *Waiter, g Grant, now time.Time) *Ownership {
	switch {
	case w.state != Leading, s.closing, len(s.owners) > 0 && w.Mode == Exclusive, !slices.Contains(s.grantees, w.Owner),
		watchdog.Left(watchdog.Validity(g.Sent, g.Lease), now) < g.Lease/2:
		return nil
	}
	o := s.granted(w, g, now)
	s.grant(w, o)
	return o
}

// granted notes that Redis has the field of w's owner, and makes the ownership.
func (s *State) granted(w *Waiter, g Grant, now time.Time) *Ownership {
	s.busy = false
	s.outage.answers++
	s.arrival, s.grantees = 0, nil
	s.budget.reset(now)
	w.place = untold
	return s.own(&w.Request, g, now)
}

func (s *State) refusal(o *Ownership, w *Waiter, g Grant, now time.Time) Refusal {
	switch {
	case w.state == Left:
		return CallLeft
	case s.closing:
		return Closing
	case g.Missing != nil:
		return FewReplicas
	case watchdog.Left(o.lease.ValidUntil(), now) <= 0:
		return TooLate
	}
	return Accepted
}

// FoundBusy settles an attempt that found another owner. registered: the attempt has put the Client into
// the registry of waiters for w's owner, where it stands with that arrival.
func (s *State) FoundBusy(w *Waiter, registered bool, arrival int64) {
	s.CommandEnded()
	s.busy = s.waiting.first != nil
	s.outage.answers++
	if registered {
		s.arrival = arrival
		s.grantees = s.grantees[:0]
		if !s.Joins(w) { // otherwise the field is the readers', and no command may take it back
			s.grantees = append(s.grantees, w.Field())
		}
	}
	if s.Joins(w) {
		s.shared.confirmed = time.Time{} // a writer of another Client waits
	}
	s.leaveRegistry()
}

// AttemptFailed settles an attempt that failed. If its outcome is unknown, the owner's field may be in
// Redis, and the Client in the registry of waiters, if the attempt was to register it.
func (s *State) AttemptFailed(w *Waiter, unknown, registers bool, now time.Time) {
	s.CommandEnded()
	s.busy = false
	if unknown {
		w.unknownOutcome = true
		if w.state == Left {
			s.engine.CleanUp(w.Field(), nil, now.Add(w.Lease))
		}
		if registers {
			s.maybeRegistered(w)
		}
	}
	s.leaveRegistry()
}

// maxGrantees bounds what an outage leaves behind: a grant that no command takes back ends with its claim.
const maxGrantees = 8

func (s *State) maybeRegistered(w *Waiter) {
	if s.arrival == 0 {
		s.arrival = MaybeRegistered // otherwise leaveRegistry would not take this Client out
	}
	if len(s.grantees) < maxGrantees && !s.Joins(w) && !slices.Contains(s.grantees, w.Field()) {
		s.grantees = append(s.grantees, w.Field())
	}
}
