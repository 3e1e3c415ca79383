package reentrant

import (
	"time"

	"github.com/redlatch/redlatch/watchdog"
)

// passOn is the write-behind hand-off: it makes the first waiter the holder on the lease
// that h holds and Redis has confirmed, at once and without a word to Redis. It returns
// false if that may not be, and h is to be released in the ordinary way. h is live, its last hold is
// being released, and its lease is valid until then. The caller has queue.mu.
//
// To everybody else it is one tenure of this Client: the key exists all the while, and
// one of its owners' fields stands in it (follow.go).
func (q *queue) passOn(h *holding, now, until time.Time) bool {
	w := q.waiters.first
	switch {
	case q.c.cfg.handoff != WriteBehind, w == nil, h.lease.parting != nil, w.owner == h.owner, q.c.isClosing():
		return false
	case q.c.cfg.replicas > 0: // which are asked when a lock changes hands
		return false
	case w.fencing || h.token != 0: // a token is given by Redis
		return false
	case w.fixed || h.holds[0].fixed || h.lease.long: // another lease than the one that stands in Redis
		return false
	case !q.turns.unasked(now):
		return false
	// Far from its end: a lease that is not renewed any more has to be confirmed anew,
	// and waits for Redis if it is silent.
	case watchdog.Left(until, now) < q.c.cfg.lease/3:
		return false
	}
	next := &holding{}
	next.begin(h.lease, &w.request, now)
	h.passTo(next, until)
	if q.c.cfg.maxHold > 0 {
		q.c.watchdog.Update(&next.lease.watch, next.schedule(time.Time{}))
	}
	q.turns.taken++
	w.from = h
	q.grant(w, next)
	q.c.counters.handedOver.Add(1)
	q.follow()
	return true
}
