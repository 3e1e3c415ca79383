package watchdog

import (
	"slices"
	"time"
)

// run is the watchdog's goroutine.
func (w *Watchdog) run() {
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.leftOpen()
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		till, open := w.work()
		if !open {
			return
		}
		if till == never {
			timer.Stop()
		} else {
			timer.Reset(time.Duration(till - w.at(time.Now())))
		}
		select {
		case <-timer.C:
		case <-w.wake:
		case <-w.done:
			return
		}
	}
}

// work does everything that is due. It returns until when to sleep, or false when the watchdog is
// closed.
//
// Answers come before expiries, and both are decided under one hold of the mutex. So when a watch is
// found expired, there is no answer in replies that could save it: an answer that is not there yet is
// received after that instant, and too late. Expiries come before renewals: a process that was
// stopped for longer than the lease finds its losses before it sends anything.
func (w *Watchdog) work() (till instant, open bool) {
	for {
		w.mu.Lock()
		if w.closed {
			w.mu.Unlock()
			return never, false
		}
		w.sleepTill = awake
		if len(w.replies) > 0 {
			c := w.replies[0]
			w.replies = append(w.replies[:0], w.replies[1:]...)
			w.mu.Unlock()
			w.apply(c)
			continue
		}
		now := time.Now()
		w.expire(now)
		if len(w.lost) > 0 {
			w.mu.Unlock()
			w.tellExpired()
			continue
		}
		if n := w.giveUp(now); n > 0 {
			w.mu.Unlock()
			w.failed(n, ErrNoAnswer)
			continue
		}
		w.startHelper(w.at(now))
		till = w.nextEvent(w.at(now))
		w.sleepTill = till
		w.mu.Unlock()
		return till, true
	}
}

// expire ends the watches whose validity has passed, and notes their handlers in w.lost. It stops at
// a limited number so as not to hold the mutex for long. The mutex must be held.
func (w *Watchdog) expire(now time.Time) {
	const many = 128
	for !w.expiries.empty() && w.expiries.first() <= w.at(now) && len(w.lost) < many {
		if x := w.expiries.s[0].x; w.passed(x.validUntil, now) {
			w.endExpired(x)
		} else {
			w.expiries.set(x, w.endOf(x, now)) // the wall clock was set back since bringForward
		}
	}
	if len(w.lost) == many {
		return
	}

	// The queue goes by the monotonic clock. When the wall clock has outrun it since the last scan,
	// all watches end sooner, and some may have ended. Small steps add up.
	ahead := w.wall(now).Sub(w.base.Round(0)) - now.Sub(w.base)
	switch {
	case ahead > w.ahead+clockStep:
		for _, e := range slices.Clone(w.expiries.s) { // a clone: the loop moves the entries
			if w.passed(e.x.validUntil, now) {
				w.endExpired(e.x)
			} else {
				w.bringForward(e.x, now)
			}
		}
		w.ahead = ahead
	case ahead < w.ahead:
		w.ahead = ahead
	}
}

// bringForward moves the end of a watch, and its renewal, to an earlier instant if the wall clock
// leaves less time than the monotonic one.
func (w *Watchdog) bringForward(x *Watch, now time.Time) {
	end := w.endOf(x, now)
	w.expiries.set(x, end)
	switch {
	case x.aside:
		w.renewing.putAside(x, end)
	case x.pos[byRenewal] != 0:
		w.renewing.set(x, min(w.renewing.of(x), w.at(now)+(end-w.at(now))/2))
	}
}

func (w *Watchdog) endOf(x *Watch, now time.Time) instant {
	return w.at(now) + instant(w.timeLeft(x.validUntil, now))
}

func (w *Watchdog) endExpired(x *Watch) {
	w.end(x)
	w.lost = append(w.lost, x.handler)
}

// tellExpired tells the handlers in w.lost.
func (w *Watchdog) tellExpired() {
	for i, h := range w.lost {
		w.lost[i] = nil
		w.losses.Add(1)
		h.Lost(CauseExpired)
	}
	w.lost = w.lost[:0]
}

// nextEvent is the next instant at which work has something to do, unless it is woken before. The
// mutex must be held.
func (w *Watchdog) nextEvent(now instant) instant {
	next := never
	if !w.expiries.empty() {
		next = min(w.expiries.first(), now+instant(clockCheck))
	}
	if !w.renewing.empty() {
		next = min(next, w.helperAt())
	}
	for _, c := range w.inflight {
		if !c.overrun {
			next = min(next, c.limit)
		}
	}
	return next
}
