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
//	  └────> ended                     passed on, lost, or abandoned by Close
//
// All changes of state are methods here and are made with queue.mu held. Its lease is
// registered with the watchdog in the critical section that makes it the holder, and
// taken out in the one that ends that, so neither an unwatched lock nor a watched ghost
// can be seen.
type holding struct {
	q     *queue
	owner string
	token int64
	since time.Time // the grant
	lease *lease    // own, or that of the holding before

	// All guarded by queue.mu.
	count      int           // holds: what Redis is told
	holds      []holdKind    // each hold, in order
	handles    []*handle     // those whose ctx is still to be ended
	lost       chan struct{} // made when asked for; closed when the holding is lost or abandoned
	err        error         // why it ended; set with state ended
	remembered *lostHold     // what counts its holds after a loss
	unheard    []func()      // what is to be told after Acquired (announce.go)
	until      time.Time     // until when it was valid, if it was passed on: the lease lives on

	// Small ones side by side: a holding is made at each hand-off, and counts in bytes there.
	state     holdState
	refused   bool        // Redis has granted it and no call has had it: nobody is told of its end
	announced bool        // Acquired was told, and what happened meanwhile
	one       [1]holdKind // room for holds: most locks are held once
}

// holdKind is what is known of one hold of a holding.
type holdKind struct {
	fixed  bool // it has a fixed lease
	handle bool // it is a [Hold], which has somebody to release it: an Unlock must not
}

type holdState int8

const (
	live holdState = iota
	releasing
	ended
)

// ownLease is a holding together with its lease.
type ownLease struct {
	holding
	lease lease
}

// hold makes r's owner the holder, for a grant that was asked for at sent. The
// caller has queue.mu and has announced its call to Close.
func (q *queue) hold(r *request, g lua.Granted, sent time.Time) *holding {
	own := &ownLease{}
	h, l := &own.holding, &own.lease
	l.q, l.field, l.tenant = q, r.owner, h
	l.asked(r.lease, r.holdKind)
	l.late = q.c.renewalsMayBeLate()
	h.begin(l, r, time.Now())
	h.token = g.Token
	q.holder = h
	q.c.work.Add(1) // before held: Close reckons with the difference
	q.c.held.Add(1)
	q.keep()
	q.c.watchdog.Add(&l.watch, l.target(), l, h.schedule(watchdog.Validity(sent, r.lease)))
	return h
}

func (h *holding) begin(l *lease, r *request, now time.Time) {
	h.q, h.lease, h.owner, h.since, h.count = l.q, l, r.owner, now, 1
	h.one[0] = r.holdKind
	h.holds = h.one[:]
}

// schedule is what the watchdog is to do: renew while any of the holds wants it,
// so a fixed lease inside a renewed hold does not end the renewal.
func (h *holding) schedule(validUntil time.Time) watchdog.Schedule {
	s := watchdog.Schedule{ValidUntil: validUntil}
	for _, kind := range h.holds {
		s.Renew = s.Renew || !kind.fixed
	}
	if limit := h.q.c.cfg.maxHold; limit > 0 {
		s.RenewUntil = h.since.Add(limit)
	}
	return s
}

func (h *holding) validUntil() time.Time {
	h.q.mu.Lock()
	defer h.q.mu.Unlock()
	if !h.until.IsZero() {
		return h.until
	}
	return h.lease.validUntil()
}

// push adds a hold that was confirmed. It reports false, and adds none, if the validity
// ended before the answer came: then the watchdog is about to tell the loss.
func (h *holding) push(kind holdKind, validUntil time.Time) bool {
	h.holds = append(h.holds, kind)
	if !h.q.c.watchdog.Update(&h.lease.watch, h.schedule(validUntil)) {
		h.holds = h.holds[:len(h.holds)-1]
		return false
	}
	h.count++
	return true
}

// pop takes the last hold of that kind away. The last one of all begins the release, with err as
// the cause for which the ctx of handles ends.
func (h *holding) pop(kind holdKind, err error) {
	h.holds, _ = withoutLast(h.holds, func(k holdKind) bool { return k == kind })
	h.count--
	if h.count == 0 {
		h.beginRelease(err)
		return
	}
	h.q.c.watchdog.Update(&h.lease.watch, h.schedule(h.lease.validUntil()))
}

// toUnlock is the kind of the hold that an Unlock releases: the last one that nobody has as a
// value. It reports false if there is none.
func toUnlock(holds []holdKind) (kind holdKind, found bool) {
	for _, kind := range slices.Backward(holds) {
		if !kind.handle {
			return kind, true
		}
	}
	return holdKind{}, false
}

// withoutLast takes the last hold away for which match is true. It reports false if there is none.
func withoutLast(holds []holdKind, match func(holdKind) bool) (rest []holdKind, found bool) {
	for i, kind := range slices.Backward(holds) {
		if match(kind) {
			return slices.Delete(holds, i, i+1), true
		}
	}
	return holds, false
}

// beginRelease ends renewal, before the release is sent: a renewal must never
// outlive its lock.
func (h *holding) beginRelease(err error) {
	h.state = releasing
	h.q.c.freeing.Add(1)
	h.lease.reach = h.lease.expiry()
	h.unwatch()
	h.endHandles(err)
}

// unwatch ends renewal, but for one that is in flight: if the owner has the lock again when
// that runs, it makes the new lease longer.
func (h *holding) unwatch() {
	h.q.c.watchdog.Remove(&h.lease.watch)
	if h.lease.watch.Unanswered() {
		h.q.c.renewalLate()
	}
}

// passTo ends a holding, valid until then, whose lease another goes on with as the
// holder.
func (h *holding) passTo(next *holding, until time.Time) {
	h.state, h.err, h.until = ended, ErrReleased, until
	h.endHandles(ErrReleased)
	h.q.holder = next
}

// end takes the lock away from the holder on this side. What follows, the next
// waiter's attempt or the hand-off to it, is the caller's.
func (h *holding) end(err error) {
	q := h.q
	was := h.state
	if was == live {
		h.unwatch()
	}
	h.state, h.err = ended, err
	h.endHandles(err)
	if q.holder == h {
		q.holder = nil
	}
	q.c.held.Add(-1)
	if was == releasing {
		q.c.freeing.Add(-1)
	}
	q.c.end()
	q.leave()
}

// detach forgets a handle whose ctx has been ended: a hold that lasts may be entered
// and left any number of times.
func (h *holding) detach(gone *handle) {
	h.handles = slices.DeleteFunc(h.handles, func(other *handle) bool { return other == gone })
}

// endHandles ends the ctx of every handle. Cancelling runs no code of the caller's
// on this goroutine: context.AfterFunc starts its own.
func (h *holding) endHandles(err error) {
	for _, handle := range h.handles {
		handle.cancel(err)
	}
	h.handles = nil
}
