package reentrant

import (
	"math/rand/v2"
	"time"

	"github.com/redlatch/redlatch/lua"
)

const (
	// A waiter that hears nothing tries again after so long, doubling from the
	// first to the last: a message may be lost and a TTL may be missing.
	firstPoll = time.Second
	lastPoll  = 5 * time.Second
	// An attempt without an answer for so long says that Redis is silent, not that
	// somebody still holds the lock.
	silence = time.Second
	// While there is no subscription to wait for, sooner.
	firstDeafPoll = 100 * time.Millisecond
	lastDeafPoll  = time.Second

	// An attempt that a message called for costs wakeCost, and up to wakeBurst may be
	// owed: whoever can publish must not be able to make all waiters spin. The first
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
func (v *vigil) pause(a attempt) (h *holding, over bool, err error) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	why := v.arm(timer, a)
	var wake chan cause // nil with a.err: there is nothing to be had sooner from a Redis in trouble
	var freed chan struct{}
	v.q.mu.Lock()
	if e := v.q.ears; e != nil && a.err == nil {
		wake, freed = e.wake, e.freed
	}
	v.q.mu.Unlock()
	for {
		select {
		case <-timer.C:
		case why = <-wake:
			if gap := v.gap(); why == byMessage && gap > 0 {
				wake = nil
				timer.Reset(gap)
				continue
			}
		case <-freed:
			freed, why = nil, byMessage
			gap := min(time.Duration(a.answer.Rank)*rankGap, lastRankGap)
			if gap = max(gap, v.gap()); gap > 0 {
				timer.Reset(gap)
				continue
			}
		case <-v.w.poked:
			if h, over, err = v.settled(); over {
				return h, over, err
			}
			continue
		case <-v.ctx.Done():
			h, err = v.ctxEnded()
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
	if a.err != nil {
		return nil, false, nil
	}
	v.q.c.counters.wakeUps[why].Add(1)
	switch why {
	case byMessage:
		if now := time.Now(); v.owed.Before(now) {
			v.owed = now
		}
		v.owed = v.owed.Add(wakeCost)
	case byPoll:
		v.poll *= 2
	}
	return nil, false, nil
}

// gap is how long a message must not call for an attempt.
func (v *vigil) gap() time.Duration {
	if v.owed.IsZero() {
		return 0
	}
	return time.Until(v.owed) - wakeBurst
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
