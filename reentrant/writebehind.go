package reentrant

import (
	"time"

	"github.com/redlatch/redlatch/watchdog"
)

// handOffUnasked is the write-behind hand-off: it makes the first waiter the holder on the lease
// that h holds and Redis has confirmed, at once and without a word to Redis. It returns
// false if that may not be, and h is to be released in the ordinary way. h is live, its last hold is
// being released, and its lease is valid until then. The caller has lockState.mu.
//
// To everybody else it is one tenure of this Client: the key exists all the while, and
// one of its owners' fields stands in it (fieldsync.go).
func (s *lockState) handOffUnasked(o *ownership, now, until time.Time) bool {
	w := s.waiters.first
	switch {
	case s.c.cfg.handoff != WriteBehind, w == nil, o.lease.parting != nil, w.owner == o.owner, s.c.isClosing():
		return false
	case s.c.cfg.replicas > 0: // which are asked when a lock changes hands
		return false
	case w.fencing || o.token != 0: // a token is given by Redis
		return false
	case w.fixed || o.holds[0].fixed || o.lease.long: // another lease than the one that stands in Redis
		return false
	case !s.budget.mayHandOff(now):
		return false
	// Far from its end: a lease that is not renewed any more has to be confirmed anew,
	// and waits for Redis if it is silent.
	case watchdog.Left(until, now) < s.c.cfg.lease/3:
		return false
	}
	next := &ownership{}
	next.begin(o.lease, &w.request, now)
	o.handTo(next, until)
	if s.c.cfg.maxHold > 0 {
		s.c.watchdog.Update(&next.lease.watch, next.schedule(time.Time{}))
	}
	s.budget.used++
	w.handedBy = o
	s.grant(w, next)
	s.c.counters.handedOver.Add(1)
	s.syncField()
	return true
}
