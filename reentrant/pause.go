package reentrant

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/redlatch/redlatch/lua"
)

const (
	// A waiter that hears nothing tries again after so long, doubling from the
	// first to the last: a message may be lost and a TTL may be missing.
	firstPoll = time.Second
	lastPoll  = 5 * time.Second
	// While there is no subscription to wait for, sooner.
	firstDeafPoll = 100 * time.Millisecond
	lastDeafPoll  = time.Second

	// wakeGap is the first pause after a wake-up that was in vain, doubling up to
	// lastWakeGap: whoever can publish must not be able to make all waiters spin.
	wakeGap     = time.Millisecond
	lastWakeGap = 20 * time.Millisecond
)

// pause waits until the next attempt. over is true when there is to be none.
func (v *vigil) pause(a attempt) (h *holding, over bool, err error) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	why := v.arm(timer, a)
	wake := v.q.wake
	if a.err != nil {
		wake = nil // there is nothing to be had sooner from a Redis in trouble
	}
	for {
		select {
		case <-timer.C:
		case why = <-wake:
			if why == byMessage && v.gap > 0 {
				// Woken in vain just now: keep a distance, and stay open to the rest.
				wake = nil
				timer.Reset(v.gap)
				continue
			}
		case <-v.w.poked:
			if h, over, err = v.settled(); over {
				return h, over, err
			}
			continue
		case <-v.ctx.Done():
			h, err = v.giveUp(context.Cause(v.ctx))
			return h, true, err
		case <-v.limit:
			h, err = v.giveUp(v.failure)
			return h, true, err
		case <-v.q.c.closing:
			h, err = v.giveUp(ErrClosed)
			return h, true, err
		}
		break
	}
	if a.err == nil {
		v.q.c.counters.wakeUps[why].Add(1)
		v.adapt(why)
	}
	return nil, false, nil
}

// arm sets the timer to the next attempt that comes without a wake-up.
func (v *vigil) arm(timer *time.Timer, a attempt) cause {
	if a.err != nil {
		timer.Reset(backoff(v.failures))
		return byPoll
	}
	first, last := firstPoll, lastPoll
	if !a.heard {
		first, last = firstDeafPoll, lastDeafPoll
	}
	v.poll = min(max(v.poll, first), last)
	// Jitter keeps processes that began to wait together from polling together.
	wait, why := v.poll-v.poll/8+rand.N(v.poll/4), byPoll
	if ttl := v.last.TTL; ttl != lua.NoTTL && ttl < wait {
		wait, why = ttl+time.Millisecond+rand.N(2*time.Millisecond), byTTL
	}
	timer.Reset(wait)
	return why
}

// adapt lengthens what was in vain.
func (v *vigil) adapt(why cause) {
	switch why {
	case byMessage:
		v.gap = min(max(2*v.gap, wakeGap), lastWakeGap)
	case byPoll:
		v.poll, v.gap = 2*v.poll, 0
	default:
		v.gap = 0
	}
}
