package watchdog

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"
)

// call is one call of RenewFunc.
type call struct {
	// Set before the call and never changed. sent is no later than the moment
	// at which RenewFunc was called.
	members []member
	sent    time.Time
	limit   instant // the call is given up if it is not back by then
	room    int     // how many members it may have at most

	// Guarded by the watchdog's mutex.
	overrun bool // given up

	// Set when it has returned, before it is put into replies.
	received time.Time
	results  []Result
	err      error // for the targets without a result
}

// member is a registration that takes part in a call.
type member struct {
	x     *Watch
	gen   uint64
	guard bool // as it was when the call was made up: its answer renews nothing
}

// answered reports whether Redis has answered for at least one target.
func (c *call) answered() bool {
	return slices.ContainsFunc(c.results, func(r Result) bool { return r.Outcome == Renewed || r.Outcome == NotOwner })
}

// helperAt is when to start a helper for the first renewal in the backlog. A helper at work takes
// every renewal that comes due, so another one is needed only when it falls behind. The mutex must be
// held.
func (w *Watchdog) helperAt() instant {
	switch {
	case w.helpers == maxHelpers || w.overdue == maxOverdue:
		return never // a helper that ends wakes the watchdog's goroutine
	case w.helpers > 0:
		return w.renewing.dueAt() + w.times.grid
	}
	return w.renewing.dueAt()
}

// startHelper starts a helper if one is needed. The mutex must be held.
func (w *Watchdog) startHelper(now instant) {
	if w.renewing.empty() || w.helperAt() > now {
		return
	}
	w.helpers++
	w.running++
	go w.help()
}

// help renews batch after batch until nothing is due.
func (w *Watchdog) help() {
	var c *call
	// Deferred, so that the helper is counted out even if RenewFunc calls Goexit.
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if c != nil && c.overrun {
			w.overdue--
		} else {
			w.helpers--
		}
		w.signal()
		w.leftOpen()
	}()
	for {
		var targets []Target
		if c, targets = w.take(); c == nil {
			return
		}
		if late := w.call(c, targets); late {
			return // another helper has taken its place
		}
	}
}

// call calls RenewFunc, and hands its results to the watchdog's goroutine. It reports whether the
// call had been given up by then.
func (w *Watchdog) call(c *call, targets []Target) (late bool) {
	ctx, cancel := context.WithTimeout(w.ctx, w.times.limit)
	defer cancel()
	// A panic must neither end renewal for good nor the whole program because of one bad answer. It
	// is a failure like any other, and is tried again.
	err := errors.New("watchdog: RenewFunc ended its goroutine")
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("watchdog: panic in RenewFunc: %v\n%s", v, debug.Stack())
		}
		late = w.returned(c, err)
	}()
	c.results = w.renew(ctx, targets, w.lease)
	if n := len(c.results); n < len(targets) {
		err = fmt.Errorf("watchdog: RenewFunc returned %d results for %d targets", n, len(targets))
	}
	return
}

// returned enters the end of a call: its reply waits for the watchdog's goroutine, and its round trip
// is noted. It reports whether the call had been given up.
func (w *Watchdog) returned(c *call, err error) (late bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.err = err
	c.received = time.Now() // under the mutex: see work
	w.inflight = slices.DeleteFunc(w.inflight, func(d *call) bool { return d == c })
	w.replies = append(w.replies, c)
	w.pace.returned(c.received.Sub(c.sent), w.times.limit, len(c.members) > w.batch, c.answered())
	w.signal()
	return c.overrun
}
