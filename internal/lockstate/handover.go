package lockstate

import (
	"time"

	"github.com/redlatch/redlatch/watchdog"
)

// Next returns the waiter that gets the lock of a releasing ownership by one command. It is nil if the
// lock has to be freed.
func (s *State) Next(o *Ownership, now time.Time) *Waiter {
	w := s.waiting.first
	switch {
	case w == nil, o.lease.parting != nil, s.cfg.Handoff == Never, s.closing:
		return nil
	case !transferable(o.mode, w.Mode), !s.alone(o):
		return nil
	case w.Owner == o.lease.field.owner: // the command would have one field as both from and to
		return nil
	case o.lease.field.moving(): // an earlier move has an unknown outcome: which field is there?
		return nil
	case s.budget.mustYield(now):
		return nil
	}
	return w
}

// Transferred ends a releasing ownership and makes a waiter's owner the owner, after the answer to the
// command. If the waiter has left, or this Client refuses the grant, the new ownership is already being
// released, and the engine goes on with that.
func (s *State) Transferred(o *Ownership, w *Waiter, g Grant, e Elsewhere, now time.Time) (*Ownership, Refusal) {
	s.budget.used++
	s.budget.learn(e, now)
	s.end(o, Ending{How: Released, At: now})
	to := s.own(&w.Request, g, now)
	refusal := s.refusal(to, w, g, now)
	if refusal == Accepted {
		w.handedBy = o
		s.grant(w, to)
		return to, Accepted
	}
	to.refused = true
	to.beginRelease(now)
	if g.Missing != nil && w.state != Left {
		s.refuse(w, g.Missing)
	}
	return to, refusal
}

// TransferUnanswered notes that a hand-off has an unknown outcome: Redis may have the field of either
// owner, for a lease from now at most. The engine ends the ownership by Released.
func (s *State) TransferUnanswered(w *Waiter, now time.Time) {
	w.unknownOutcome = true
	if w.state == Left {
		s.engine.CleanUp(w.Owner, nil, now.Add(w.Lease))
	}
}

// handOverUnasked is the write-behind hand-off: it makes the first waiter the owner on the lease that o
// holds and Redis has confirmed, at once and without a word to Redis. It returns false if that may not
// be, and o is to be released in the ordinary way. o is live, its last hold is being released, and its
// lease is valid until the instant until.
//
// To everybody else it is one ownership of this Client: the key exists all the while, and has the field of
// one of the Client's owners (sync.go).
func (s *State) handOverUnasked(o *Ownership, now, until time.Time) bool {
	w := s.waiting.first
	switch {
	case s.cfg.Handoff != WriteBehind, w == nil, o.lease.parting != nil, w.Owner == o.owner, s.closing:
		return false
	case !transferable(o.mode, w.Mode), !s.alone(o):
		return false
	case s.cfg.Replicas > 0: // which are asked when a lock changes hands
		return false
	case w.Fencing || o.token != 0: // a token is given by Redis
		return false
	case w.Fixed || o.holds[0].Fixed || o.lease.long: // another lease than the one that stands in Redis
		return false
	case !s.budget.mayHandOff(now):
		return false
	// Far from its end: a lease that is not renewed any more has to be confirmed anew,
	// and waits for Redis if it is silent.
	case watchdog.Left(until, now) < s.cfg.Lease/3:
		return false
	}
	next := s.engine.Ownership(o.lease)
	next.begin(&w.Request, now)
	s.handTo(o, next, until)
	if s.cfg.MaxHold > 0 {
		o.lease.Watch.Update(next.schedule(time.Time{}))
	}
	s.budget.used++
	w.handedBy = o
	s.grant(w, next)
	s.engine.SyncField()
	return true
}
