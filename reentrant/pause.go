package reentrant

import (
	"math/rand/v2"
	"time"

	"github.com/redlatch/redlatch/internal/lockstate"
	"github.com/redlatch/redlatch/lua"
)

const (
	// A waiter that hears nothing tries again after so long, doubling from the
	// first to the last: a message may be lost and a TTL may be missing.
	firstPoll = time.Second
	lastPoll  = 5 * time.Second
	// While there is no subscription to wait for, sooner.
	firstUnsubscribedPoll = 100 * time.Millisecond
	lastUnsubscribedPoll  = time.Second

	// An attempt that a message called for costs wakeCost, and up to wakeBurst may be
	// owed: a user who may publish must not be able to make all waiters spin. The first
	// attempts are at once, without a least distance: Redisson's releases wake
	// everybody, and a waiter that hesitates after one of them comes in the middle
	// of the next hold, and so on.
	wakeCost  = 20 * time.Millisecond
	wakeBurst = 20 * wakeCost

	// rankGap is how long a waiter leaves a lock that Redisson has freed to each of
	// the registered clients before it, so that they do not all try at once and the
	// first come has the best chance; lastRankGap is the most.
	rankGap     = 2 * time.Millisecond
	lastRankGap = 20 * time.Millisecond
)

// pause waits until the next attempt. over is true when there is to be none.
func (a *acquisition) pause(got attempt) (o *ownership, over bool, err error) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	why, o, over, err := a.awaitCause(timer, got)
	if over || got.err != nil {
		return o, over, err
	}
	if o := a.s.takeGrant(a.w); o != nil {
		return o, true, nil
	}
	a.s.c.counters.wakeUps[why].Add(1)
	a.w.wake(why)
	a.s.tellWoken(a.w)
	switch why {
	case byMessage:
		if now := time.Now(); a.paidUntil.Before(now) {
			a.paidUntil = now
		}
		a.paidUntil = a.paidUntil.Add(wakeCost)
	case byPoll:
		a.pollEvery *= 2
	}
	return nil, false, nil
}

// awaitCause waits for the cause of the next attempt, or for the end of the wait. A message that comes too soon
// after others, or is for waiters of earlier clients first, sets the timer instead.
func (a *acquisition) awaitCause(timer *time.Timer, got attempt) (why cause, o *ownership, over bool, err error) {
	why = a.arm(timer, got)
	wake, freed := a.signals(got)
	for {
		select {
		case <-timer.C:
			return why, nil, false, nil
		case why = <-wake:
			gap := a.gap()
			if why != byMessage || gap <= 0 || a.s.sequencer.expected.Load().wasHeard() {
				return why, nil, false, nil
			}
			wake = nil
			timer.Reset(gap)
		case <-freed:
			freed, why = nil, byMessage
			gap := min(time.Duration(got.answer.Rank)*rankGap, lastRankGap)
			if gap = max(gap, a.gap()); gap <= 0 {
				return why, nil, false, nil
			}
			timer.Reset(gap)
		case <-a.w.notified:
			if o, over, err = a.settled(); over {
				return why, o, over, err
			}
		case <-a.ctx.Done():
			o, err = a.ctxEnded()
			return why, o, true, err
		case <-a.limit:
			o, err = a.giveUp(a.failure())
			return why, o, true, err
		case <-a.s.c.closing:
			o, err = a.giveUp(ErrClosed)
			return why, o, true, err
		}
	}
}

// signals are the channels of the wake-ups. They are nil after a failed attempt: nothing is to be had sooner
// from a Redis in trouble.
func (a *acquisition) signals(got attempt) (wake chan cause, freed chan struct{}) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if w := a.s.wakeups; w != nil && got.err == nil {
		return w.wake, w.freed
	}
	return nil, nil
}

// gap is how long a message must not call for an attempt.
func (a *acquisition) gap() time.Duration {
	if a.paidUntil.IsZero() {
		return 0
	}
	return time.Until(a.paidUntil) - wakeBurst
}

// arm sets the timer to the next attempt that comes without a wake-up.
func (a *acquisition) arm(timer *time.Timer, got attempt) cause {
	if got.err != nil {
		timer.Reset(backoff(a.failures()))
		return byPoll
	}
	first, last := firstPoll, lastPoll
	if !got.heard {
		first, last = firstUnsubscribedPoll, lastUnsubscribedPoll
	}
	if a.s.kind.twoModes && a.w.Mode == lockstate.Exclusive {
		last = first // each attempt bars readers for another 3 s (lua/rw.lua)
	}
	if a.s.kind.lines && a.lastAnswer.Holder == "" {
		last = first // the head may take the free lock, and its lease may end, without a message
	}
	a.pollEvery = min(max(a.pollEvery, first), last)
	// Jitter keeps processes that began to wait together from polling together.
	wait, why := a.pollEvery-a.pollEvery/8+rand.N(a.pollEvery/4), byPoll
	if ttl := a.lastAnswer.TTL; ttl != lua.NoTTL && ttl < wait {
		wait, why = ttl+time.Millisecond+rand.N(2*time.Millisecond), byTTL
	}
	timer.Reset(wait)
	return why
}
