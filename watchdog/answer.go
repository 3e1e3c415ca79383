package watchdog

import (
	"errors"
	"time"
)

var errNoError = errors.New("watchdog: renewal failed and gave no error")

// giveUp gives up the calls that have taken too long. It queues their members for another try at
// once: the delay after a failure has been spent waiting. The call's helper gives its place to
// another one: a call may hang for ever, and must not keep other leases from being renewed. giveUp
// returns how many members there are. The mutex must be held.
func (w *Watchdog) giveUp(now time.Time) int {
	n := 0
	for _, c := range w.inflight {
		if c.overrun || c.limit > w.at(now) {
			continue
		}
		c.overrun = true
		w.helpers--
		w.overdue++
		for _, m := range c.members {
			if m.x.call != c {
				continue // removed, and perhaps added again
			}
			n++
			m.x.call = nil
			if m.x.renew {
				w.renewing.set(m.x, w.overdueAt(m.x, now))
			}
		}
	}
	return n
}

// apply acts on the answers to a call. It locks the mutex for each member anew. So no handler is
// called for a watch after a Remove that returned true, and holders do not wait for a whole batch.
func (w *Watchdog) apply(c *call) {
	failures, firstErr := 0, error(nil)
	delay := w.retryDelay()
	for i, m := range c.members {
		r := Result{Outcome: Failed, Err: c.err}
		if i < len(c.results) {
			r = c.results[i]
		}
		switch e := w.settle(c, m, r.Outcome, delay); e.what {
		case nothing:
		case renewed:
			w.renewals.Add(1)
			if e.handler != nil {
				e.handler.Renewed(e.validUntil)
			}
		case lost:
			w.losses.Add(1)
			e.handler.Lost(e.cause)
		case failed:
			failures++
			if firstErr == nil {
				firstErr = r.Err
			}
		}
	}
	if failures > 0 {
		w.failed(failures, firstErr)
	}
}

// news is what settle has found and apply reports once the mutex is free.
type news struct {
	what       int
	handler    Handler
	validUntil time.Time // when renewed
	cause      Cause     // when lost
}

const (
	nothing = iota
	renewed // told to the handler only if validUntil moved
	lost
	failed
)

// settle applies one answer to one watch.
func (w *Watchdog) settle(c *call, m member, o Outcome, delay time.Duration) news {
	w.mu.Lock()
	defer w.mu.Unlock()
	x := m.x
	if w.closed || x.gen != m.gen {
		return news{}
	}
	if o == Renewed || o == NotOwner {
		x.unanswered.Add(-1)
	}
	awaited := x.call == c // else the call was given up, and the watch is in another try
	if awaited {
		x.call = nil
	}
	now := time.Now()
	if w.passed(x.validUntil, c.received) {
		w.end(x)
		return news{what: lost, handler: x.handler, cause: CauseExpired}
	}

	switch {
	case o == Renewed:
		return w.confirmed(c, m, awaited, now)
	case o == NotOwner:
		w.end(x)
		return news{what: lost, handler: x.handler, cause: CauseNotOwner}
	case !awaited:
		return news{} // was counted when it was given up
	case x.renew:
		w.renewing.set(x, w.retryAt(x, now, delay))
	}
	return news{what: failed}
}

// confirmed moves the validity of a watch on, after a renewal that Redis has confirmed. The caller has mu.
func (w *Watchdog) confirmed(c *call, m member, awaited bool, now time.Time) news {
	x := m.x
	v := Validity(c.sent, w.lease)
	moved := v.After(x.validUntil) && !m.guard
	if moved {
		x.validUntil = v
		w.expiries.set(x, w.endOf(x, now))
	}
	if !moved && !awaited {
		return news{}
	}
	if w.passed(x.validUntil, now) { // the process stood still since the answer came
		w.end(x)
		return news{what: lost, handler: x.handler, cause: CauseExpired}
	}
	if x.renew && x.call == nil {
		w.renewing.set(x, w.renewalAt(x, w.at(c.sent), now))
	}
	switch {
	case m.guard:
		return news{}
	case !moved:
		return news{what: renewed}
	}
	return news{what: renewed, handler: x.handler, validUntil: v}
}

// failed counts and reports the targets that one call did not renew.
func (w *Watchdog) failed(targets int, err error) {
	w.failures.Add(uint64(targets))
	if w.onFailure == nil {
		return
	}
	if err == nil {
		err = errNoError
	}
	w.onFailure(targets, err)
}
