package reentrant

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/lockstate"
	"github.com/redlatch/redlatch/internal/multi"
)

// waiter is one call in the wait queue.
type waiter struct {
	lockstate.Waiter // guarded by lockState.mu, except for its Request, which does not change
	caller

	notified chan struct{} // capacity 1: the call is to look at its state
	gone     chan struct{} // closed when the call has left without the lock; made when it leads

	// Only its call uses these.
	attempted   bool // it has led, and made an attempt
	woken       bool // a wake-up has called for an attempt since
	handOffTold bool // the event of its hand-off was told
	reusable    bool // granted by an attempt that its call has settled itself (launch.go)
	wokenBy     cause
}

var _ lockstate.Call = (*waiter)(nil)

// caller is what a call wants, besides what the lock state has to know of it.
type caller struct {
	ctx          context.Context // the caller's, for the events of the call
	number       uint64          // of the call, for events; 0: there are none
	of           *ownership      // ctx comes from a hold of it, live a moment ago; nil: from none of this lock
	lost         error           // ctx comes from a hold of this lock that is lost
	readersFirst bool            // the Lock's
	member       bool            // the caller is a MultiLock, which has limits of its own
	terms        multi.Terms     // the lease is made from them
	quick        time.Duration   // the limit of a single attempt (quick.go); 0: it has none
}

// request is what a call asks for.
type request struct {
	lockstate.Request
	caller
}

// actAs sets for whom the call acts.
func (r *request) actAs(id identity) {
	r.Owner, r.AnyCall, r.of, r.lost = id.owner, id.shared, id.ownership, id.lost
}

// waiterOf is the waiter around a waiter of package lockstate.
func waiterOf(w *lockstate.Waiter) *waiter { return w.Call.(*waiter) }

// newWaiter makes a waiter, or reuses one. Each Client reuses its own only: a channel
// made in one bubble of testing/synctest must not turn up in another.
func (c *Client) newWaiter(r *request) *waiter {
	w, spare := c.spare.Get().(*waiter)
	if !spare {
		w = &waiter{notified: make(chan struct{}, 1)}
	}
	w.Waiter.Request, w.Waiter.Call, w.caller = r.Request, w, r.caller
	return w
}

// recycle gives a waiter back for reuse, at the end of its call, if nothing but its call refers to it. Such a waiter
// was handed the lock and has never led, or its call has settled the attempt that got the lock.
func (c *Client) recycle(w *waiter) {
	if !w.reusable && (w.HandedBy() == nil && !w.Admitted() || w.Led()) {
		return
	}
	select {
	case <-w.notified:
	default:
	}
	*w = waiter{notified: w.notified, gone: w.gone} // it did not leave, so gone is open
	c.spare.Put(w)
}

// Notify implements [lockstate.Call].
func (w *waiter) Notify() {
	select {
	case w.notified <- struct{}{}:
	default:
	}
}

// single reports whether the call is a single attempt, without a wait.
func (r *caller) single() bool { return r.terms.Limited && r.terms.Wait <= 0 }

// limit returns a channel that fires at the limit of a wait that began then. Without a limit it is nil.
// The caller must call stop in any case.
func (r *caller) limit(began time.Time) (limit <-chan time.Time, stop func() bool) {
	d := r.terms.Wait
	if r.single() {
		d = r.quick
	}
	if !r.terms.Limited || d <= 0 {
		return nil, func() bool { return false }
	}
	timer := time.NewTimer(d - time.Since(began))
	return timer.C, timer.Stop
}
