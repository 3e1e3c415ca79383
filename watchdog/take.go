package watchdog

import "time"

// take makes up a batch of the renewals that are due. It does so only now, when the call is about to
// be sent: a lease that was removed, or has run out while other batches were under way or the process
// stood still, is not in it.
func (w *Watchdog) take() (c *call, targets []Target) {
	c = &call{}
	for more := true; more; {
		targets, more = w.fill(c, targets)
	}
	if len(targets) == 0 {
		return nil, nil
	}
	return c, targets
}

// fillSteps bounds how long one step of fill holds the mutex.
const fillSteps = 500

// fill adds the next watches to a call, and reports whether there may be more. A call is in flight
// from its first target on. A call that is given up before it was sent gets no more targets.
func (w *Watchdog) fill(c *call, targets []Target) (_ []Target, more bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, tooLate := time.Now(), w.tooLate()
	if len(targets) == 0 {
		c.sent, c.limit, c.room = now, w.at(now)+instant(w.times.limit), w.room(w.at(now))
	}
	for range fillSteps {
		if w.closed || c.overrun || len(targets) == c.room {
			return targets, false
		}
		x, found := w.next(now, tooLate)
		if !found {
			return targets, false
		}
		if x == nil {
			continue
		}
		if targets == nil {
			n := min(c.room, w.renewing.len()+1)
			c.members, targets = make([]member, 0, n), make([]Target, 0, n)
			w.inflight = append(w.inflight, c)
			w.calls.Add(1)
			w.wakeBefore(c.limit)
		}
		x.call = c
		x.unanswered.Add(1)
		c.members = append(c.members, member{x, x.gen, x.guard})
		t := x.target
		t.Guard = x.guard
		targets = append(targets, t)
	}
	return targets, true
}

// room is how many targets a call may have if it is made up now. The mutex must be held.
func (w *Watchdog) room(now instant) int {
	late := instant(0)
	if !w.renewing.due.empty() {
		late = max(now-w.renewing.due.first(), 0)
	}
	return w.batch * w.pace.batches(late, w.times.grid, len(w.renewing.aside.s), w.batch)
}

// next takes the watch out of the backlog that is to be renewed first. It returns nil and found if
// that watch is not to be renewed now: next has put it aside, its renewal has reached its limit, or
// its validity has passed, which the watchdog's goroutine is about to report. The mutex must be held.
func (w *Watchdog) next(t time.Time, tooLate instant) (x *Watch, found bool) {
	now, last := w.at(t), false
	x = w.renewing.popAside(now + tooLate)
	if x == nil {
		x = w.renewing.popDue(now)
	}
	if x == nil {
		x, last = w.renewing.popAside(longAgo), true
	}
	if x == nil {
		return nil, false
	}
	left := instant(w.timeLeft(x.validUntil, t))
	switch {
	case left <= 0, !x.renewUntil.IsZero() && w.passed(x.renewUntil, t):
		return nil, true
	case left < tooLate && !last:
		w.renewing.putAside(x, now+left)
		return nil, true
	}
	return x, true
}
