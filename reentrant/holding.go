package reentrant

import (
	"slices"
	"time"

	"github.com/redlatch/redlatch/lua"
	"github.com/redlatch/redlatch/watchdog"
)

// holding is one owner's tenure of one lock, from the grant to its end, nested
// holds included. Its states:
//
//	live ──> releasing ──> ended       the last hold was released
//	  └────> ended                     lost, or abandoned by Close
//
// All changes of state are methods here and are made with queue.mu held. It is
// watched by the watchdog exactly while it is live: registered in the critical
// section that makes it the holder, taken out in the one that ends that, so neither
// an unwatched lock nor a watched ghost can be seen.
type holding struct {
	q     *queue
	owner string
	token int64
	since time.Time      // the grant
	watch watchdog.Watch // guarded by the watchdog

	// All guarded by queue.mu.
	state   holdState
	count   int           // holds: what Redis is told
	fixed   []bool        // each hold, in order: whether it has a fixed lease
	expires time.Time     // when the key is gone from Redis without a release; set with state releasing
	reach   time.Time     // until when the key may live by the commands for it, renewals excepted
	renewed bool          // renewals were or may have been sent
	orphan  bool          // reach was moved on by a command that nobody has a hold from
	handles []*Hold       // those whose ctx is still to be ended
	lost    chan struct{} // made when asked for; closed when the holding is lost or abandoned
	err     error         // why it ended; set with state ended

	one [1]bool // room for fixed: most locks are held once
}

type holdState int

const (
	live holdState = iota
	releasing
	ended
)

// hold makes r's owner the holder, for a grant that was asked for at sent. The
// caller has queue.mu and has announced its call to Close.
func (q *queue) hold(r request, g lua.Granted, sent time.Time) *holding {
	h := &holding{q: q, owner: r.owner, token: g.Token, since: time.Now(), count: 1}
	h.one[0] = r.fixed
	h.fixed = h.one[:]
	h.asked(r)
	q.holder = h
	q.c.held.Add(1)
	q.c.work.Add(1)
	q.c.keepQueue(q)
	q.c.watchdog.Add(&h.watch, watchdog.Target{Key: q.keys.Lock, Owner: h.owner}, h,
		h.schedule(watchdog.Validity(sent, r.lease)))
	return h
}

// schedule is what the watchdog is to do: renew while any of the holds wants it,
// so a fixed lease inside a renewed hold does not end the renewal.
func (h *holding) schedule(validUntil time.Time) watchdog.Schedule {
	s := watchdog.Schedule{ValidUntil: validUntil}
	for _, fixed := range h.fixed {
		s.Renew = s.Renew || !fixed
	}
	if limit := h.q.c.cfg.maxHold; limit > 0 {
		s.RenewUntil = h.since.Add(limit)
	}
	return s
}

// asked notes a command with r's lease. Redis has run it by now or, when there is no
// answer, will have as a rule; it counts from when it does.
func (h *holding) asked(r request) {
	if reach := time.Now().Add(r.lease + watchdog.Drift(r.lease)); reach.After(h.reach) {
		h.reach = reach
	}
	h.renewed = h.renewed || !r.fixed
}

// expiry is when the key is gone without a release: later than the validity, as
// the last renewals may have run without an answer.
func (h *holding) expiry() time.Time {
	lease := h.q.c.cfg.lease
	if last := time.Now().Add(lease + watchdog.Drift(lease)); h.renewed && last.After(h.reach) {
		return last
	}
	return h.reach
}

func (h *holding) validUntil() time.Time { return h.q.c.watchdog.ValidUntil(&h.watch) }

// push adds a hold that was confirmed.
func (h *holding) push(fixed bool, validUntil time.Time) {
	h.count++
	h.fixed = append(h.fixed, fixed)
	h.q.c.watchdog.Update(&h.watch, h.schedule(validUntil))
}

// pop takes a hold away: the last of the given kind, or the last of all if kind is
// nil. The last one of all begins the release, with err as the cause for which the
// ctx of handles ends.
func (h *holding) pop(kind *bool, err error) {
	i := len(h.fixed) - 1
	for kind != nil && i > 0 && h.fixed[i] != *kind {
		i--
	}
	h.fixed = append(h.fixed[:i], h.fixed[i+1:]...)
	h.count--
	if h.count == 0 {
		h.beginRelease(err)
		return
	}
	h.q.c.watchdog.Update(&h.watch, h.schedule(h.validUntil()))
}

// beginRelease ends renewal, before the release is sent: a renewal must never
// outlive its lock.
func (h *holding) beginRelease(err error) {
	h.state = releasing
	h.expires = h.expiry()
	h.q.c.watchdog.Remove(&h.watch)
	h.endHandles(err)
}

// end takes the lock away from the holder on this side. What follows, the next
// waiter's attempt or the hand-off to it, is the caller's.
func (h *holding) end(err error) {
	q := h.q
	if h.state == live {
		q.c.watchdog.Remove(&h.watch)
	}
	h.state, h.err = ended, err
	h.endHandles(err)
	if q.holder == h {
		q.holder = nil
	}
	q.c.held.Add(-1)
	q.c.end()
	q.c.leaveQueue(q)
}

// detach forgets a handle whose ctx has been ended: a hold that lasts may be entered
// and left any number of times.
func (h *holding) detach(handle *Hold) {
	h.handles = slices.DeleteFunc(h.handles, func(other *Hold) bool { return other == handle })
}

// endHandles ends the ctx of every handle. Cancelling runs no code of the caller's
// on this goroutine: context.AfterFunc starts its own.
func (h *holding) endHandles(err error) {
	for _, handle := range h.handles {
		handle.cancel(err)
	}
	h.handles = nil
}
