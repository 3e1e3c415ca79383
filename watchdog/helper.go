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
	limit   instant // given up if not back by then

	// Guarded by the watchdog's mutex.
	overrun bool // given up

	// Set when it has returned, before it is put into replies.
	received time.Time
	results  []Result
	err      error // for the targets without a result
}

// member is a registration that takes part in a call.
type member struct {
	x   *Watch
	gen uint64
}

// helperAt is when a helper is to be started for the first renewal in the
// queue. While one is at work it takes whatever comes due, and another is only
// needed when it falls behind. The mutex must be held.
func (w *Watchdog) helperAt() instant {
	switch {
	case w.helpers == maxHelpers:
		return never // one that ends wakes the watchdog's goroutine
	case w.helpers > w.stuck:
		return w.renewing.first() + w.times.grid
	}
	return w.renewing.first()
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
	// Deferred, so that it is counted out even if RenewFunc calls Goexit.
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.helpers--
		w.signal()
		w.left()
	}()
	for {
		c, targets := w.take()
		if c == nil {
			return
		}
		if late := w.call(c, targets); late {
			return // others have taken its place
		}
	}
}

// take makes up a batch of what is due. It is made up only now, so that it has
// no lease in it that was removed, or ran out, while other batches were under
// way or the process stood still.
func (w *Watchdog) take() (*call, []Target) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, nil
	}
	now := time.Now()
	c := &call{sent: now}
	var targets []Target
	for len(targets) < w.batch && !w.renewing.empty() && w.renewing.first() <= w.at(now) {
		x := w.renewing.pop()
		if w.passed(x.validUntil, now) {
			continue // the watchdog's goroutine is about to report it
		}
		if !x.renewUntil.IsZero() && w.passed(x.renewUntil, now) {
			continue
		}
		if targets == nil {
			n := min(w.batch, len(w.renewing.s)+1)
			c.members, targets = make([]member, 0, n), make([]Target, 0, n)
		}
		x.call = c
		x.unanswered.Add(1)
		c.members = append(c.members, member{x, x.gen})
		targets = append(targets, x.target)
	}
	if targets == nil {
		return nil, nil
	}
	c.limit = w.at(now) + instant(w.times.limit)
	w.inflight = append(w.inflight, c)
	w.calls.Add(1)
	w.wakeBefore(c.limit)
	return c, targets
}

// call calls RenewFunc, hands what it returned to the watchdog's goroutine, and
// reports whether the call had been given up by then.
func (w *Watchdog) call(c *call, targets []Target) (late bool) {
	ctx, cancel := context.WithTimeout(w.ctx, w.times.limit)
	defer cancel()
	// A panic must not end renewal for good, nor the whole program because of
	// one bad answer: it is a failure like any other, and is tried again.
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

func (w *Watchdog) returned(c *call, err error) (late bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.err = err
	c.received = time.Now() // under the mutex: see work
	w.inflight = slices.DeleteFunc(w.inflight, func(d *call) bool { return d == c })
	w.replies = append(w.replies, c)
	if c.overrun {
		w.stuck--
	}
	w.signal()
	return c.overrun
}
