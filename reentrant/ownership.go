package reentrant

import (
	"slices"
	"time"

	"github.com/redlatch/redlatch/lua"
	"github.com/redlatch/redlatch/watchdog"
)

// ownership is one owner's time with one lock, from the grant to its end, nested holds included. Its
// states:
//
//	live ──> releasing ──> ended       the last hold was released
//	  └────> ended                     passed on, lost, or abandoned by Close
//
// All changes of state are methods here and are made with lockState.mu held. The critical section
// that makes an ownership the holder registers its lease with the watchdog, and the one that ends
// that takes it out. So there is never a held lock without a watch, nor a watch without a held lock.
type ownership struct {
	s     *lockState
	owner string
	token int64
	since time.Time // the grant
	lease *lease    // its own, or that of the ownership before

	// All guarded by lockState.mu.
	count         int           // how many holds: Redis is told this number
	holds         []holdKind    // each hold, in order
	handles       []*handle     // handles whose ctx is still to be ended
	lost          chan struct{} // made when asked for; closed when the ownership is lost or abandoned
	err           error         // why it ended; set with state ended
	remembered    *lostHold     // counts its holds after a loss
	pendingEvents []func()      // events to be told after Acquired (announce.go)
	until         time.Time     // until when it was valid, if it was passed on and its lease lives on

	// Small fields side by side: a hand-off makes an ownership, and every byte counts there.
	state     ownershipState
	refused   bool        // Redis has granted it and no call has got it: no event tells of its end
	announced bool        // Acquired was told, and all pending events
	one       [1]holdKind // room for holds: most locks are held once
}

// holdKind is what is known of one hold of an ownership.
type holdKind struct {
	fixed  bool // it has a fixed lease
	handle bool // it is a [Hold], which its caller releases: an Unlock must not
}

type ownershipState int8

const (
	live ownershipState = iota
	releasing
	ended
)

// ownLease is an ownership together with its lease.
type ownLease struct {
	ownership
	lease lease
}

// hold makes r's owner the holder, after a grant whose command was sent at sent. The caller has
// lockState.mu and has announced its call to Close.
func (s *lockState) hold(r *request, g lua.Granted, sent time.Time) *ownership {
	own := &ownLease{}
	o, l := &own.ownership, &own.lease
	l.s, l.field = s, field{owner: r.owner, countOf: o}
	l.asked(r.lease, r.holdKind)
	l.late = s.c.renewalsMayBeLate()
	o.begin(l, r, time.Now())
	o.token = g.Token
	s.holder = o
	s.c.work.Add(1) // before held: Close uses the difference
	s.c.held.Add(1)
	s.addUser()
	s.c.watchdog.Add(&l.watch, l.target(), l, o.schedule(watchdog.Validity(sent, r.lease)))
	return o
}

func (o *ownership) begin(l *lease, r *request, now time.Time) {
	o.s, o.lease, o.owner, o.since, o.count = l.s, l, r.owner, now, 1
	o.one[0] = r.holdKind
	o.holds = o.one[:]
}

// schedule is the watchdog's task: to renew while any of the holds is a renewed one. So a fixed lease
// inside a renewed hold does not end the renewal.
func (o *ownership) schedule(validUntil time.Time) watchdog.Schedule {
	s := watchdog.Schedule{ValidUntil: validUntil}
	for _, kind := range o.holds {
		s.Renew = s.Renew || !kind.fixed
	}
	if limit := o.s.c.cfg.maxHold; limit > 0 {
		s.RenewUntil = o.since.Add(limit)
	}
	return s
}

func (o *ownership) validUntil() time.Time {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	if !o.until.IsZero() {
		return o.until
	}
	return o.lease.validUntil()
}

// push adds a hold that Redis has confirmed. It reports false, and adds none, if the validity ended
// before the answer came: then the watchdog is about to report the loss.
func (o *ownership) push(kind holdKind, validUntil time.Time) bool {
	o.holds = append(o.holds, kind)
	if !o.s.c.watchdog.Update(&o.lease.watch, o.schedule(validUntil)) {
		o.holds = o.holds[:len(o.holds)-1]
		return false
	}
	o.count++
	return true
}

// pop removes the last hold of that kind. If it was the last of all, pop begins the release; err is
// the cause with which the ctx of handles ends.
func (o *ownership) pop(kind holdKind, err error) {
	o.holds, _ = withoutLast(o.holds, func(k holdKind) bool { return k == kind })
	o.count--
	if o.count == 0 {
		o.beginRelease(err)
		return
	}
	o.s.c.watchdog.Update(&o.lease.watch, o.schedule(o.lease.validUntil()))
}

// toUnlock is the kind of the hold that an Unlock releases: the last one that is not a [Hold] in its
// caller's hands. It reports false if there is none.
func toUnlock(holds []holdKind) (kind holdKind, found bool) {
	for _, kind := range slices.Backward(holds) {
		if !kind.handle {
			return kind, true
		}
	}
	return holdKind{}, false
}

// withoutLast removes the last hold for which match is true. It reports false if there is none.
func withoutLast(holds []holdKind, match func(holdKind) bool) (rest []holdKind, found bool) {
	for i, kind := range slices.Backward(holds) {
		if match(kind) {
			return slices.Delete(holds, i, i+1), true
		}
	}
	return holds, false
}

// beginRelease ends renewal, before the release is sent: a renewal must never outlive its lock.
func (o *ownership) beginRelease(err error) {
	o.state = releasing
	o.s.c.freeing.Add(1)
	o.lease.reach = o.lease.expiry()
	o.unwatch()
	o.endHandles(err)
}

// unwatch ends renewal. It does not stop a renewal in flight. If the same owner has the lock again
// when Redis runs that renewal, the new lease becomes longer. So unwatch notes that it may come.
func (o *ownership) unwatch() {
	o.s.c.watchdog.Remove(&o.lease.watch)
	if o.lease.watch.Unanswered() {
		o.s.c.renewalLate()
	}
}

// handTo ends an ownership and makes next the holder, which goes on with the same lease. The
// ownership was valid until the instant until.
func (o *ownership) handTo(next *ownership, until time.Time) {
	o.state, o.err, o.until = ended, ErrReleased, until
	o.endHandles(ErrReleased)
	o.s.holder = next
}

// end takes the lock away from the holder, in this Client only. The caller goes on with what follows:
// the next waiter's attempt, or the hand-off to that waiter.
func (o *ownership) end(err error) {
	s := o.s
	was := o.state
	if was == live {
		o.unwatch()
	}
	o.state, o.err = ended, err
	o.endHandles(err)
	if s.holder == o {
		s.holder = nil
	}
	s.c.held.Add(-1)
	if was == releasing {
		s.c.freeing.Add(-1)
	}
	s.c.end()
	s.dropUser()
}

// detach forgets a handle whose ctx has been ended: an ownership that lasts may be entered and left
// any number of times.
func (o *ownership) detach(gone *handle) {
	o.handles = slices.DeleteFunc(o.handles, func(other *handle) bool { return other == gone })
}

// endHandles ends the ctx of every handle. That runs no code of the caller's on this goroutine:
// context.AfterFunc starts its own.
func (o *ownership) endHandles(err error) {
	for _, handle := range o.handles {
		handle.cancel(err)
	}
	o.handles = nil
}
