package reentrant

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/lua"
)

// arrival is what a waiter found when it joined the queue. What changes after that it is poked for.
type arrival struct {
	leads bool
	ahead *holding // the holder, nil if no owner of this Client holds the lock
	busy  bool     // this Client itself knows that the lock is not to be had now
}

// await takes a waiter through the queue. It returns nil and no error when the
// waiter's owner has got the lock by another call and is to re-enter.
func (q *queue) await(ctx context.Context, w *waiter, at arrival) (*holding, error) {
	q.c.counters.waiting.Add(1)
	limit, stop := w.limit()
	v := &vigil{q: q, w: w, ctx: ctx, limit: limit, why: q.c.inquire(&w.request, q.keys.Lock)}
	defer func() { // one, or the compiler keeps a list of them
		v.why.stop()
		stop()
		q.c.counters.waiting.Add(-1)
	}()
	if at.leads {
		return v.lead()
	}
	v.answered = at.busy
	if at.ahead != nil {
		v.last.Holder = at.ahead.owner
	}
	v.tellWaiting()
	for {
		select {
		case <-w.poked:
		case <-ctx.Done():
			v.askQueue()
			return v.ctxEnded()
		case <-limit:
			v.askQueue()
			return v.interrupted()
		}
		if h, over, err := v.settled(); over {
			return h, err
		}
		if q.c.isClosing() { // of which it is told by a poke: one channel less to wait for
			return v.giveUp(ErrClosed)
		}
		if v.askQueue() {
			return v.lead()
		}
	}
}

// askQueue learns from the attempts of those who led meanwhile whether Redis answers,
// and whether the waiter leads now.
func (v *vigil) askQueue() (leads bool) {
	v.q.mu.Lock()
	defer v.q.mu.Unlock()
	v.answered = v.answered || v.q.answers != v.w.answers
	return v.w.state == leading
}

// vigil is the wait of one call at the head of its queue. It belongs to the
// calling goroutine.
type vigil struct {
	q     *queue
	w     *waiter
	ctx   context.Context
	limit <-chan time.Time
	why   *inquiry

	last     lua.Granted // Redis' last answer
	answered bool        // whether there was one
	told     bool        // the Waiting event was sent
	late     bool        // ctx's deadline ended the wait, and the lock was busy then

	failures    int       // attempts in a row that Redis did not answer or could not serve
	failingFrom time.Time // the first of them
	failure     error     // the last of them

	poll time.Duration // until the next attempt without a wake-up
	owed time.Time     // when the attempts that messages called for are paid for
}

// lead tries until the lock is granted or the wait is over. Between attempts it
// waits for the first of: a wake-up, the end of the holder's lease, the poll.
func (v *vigil) lead() (*holding, error) {
	q, w := v.q, v.w
	for {
		var a attempt
		err := q.call(v.ctx, v.limit, q.c.closing, func(ctx context.Context) { a = q.attempt(ctx, w) })
		switch {
		case errors.Is(err, ErrClosed):
			return v.giveUp(ErrClosed)
		case errors.Is(err, errAborted):
			return v.giveUp(err)
		case err != nil:
			return v.interrupted()
		case a.hold != nil:
			return a.hold, nil
		case a.overtaken:
			h, _, err := v.settled()
			return h, err
		case a.err != nil:
			if err := v.failed(a.err); err != nil {
				if !w.single() { // which gives up sooner than a wait
					q.refuse(w, v.failingFrom, v.answered, err)
				}
				return v.giveUp(err)
			}
		default:
			v.busy(a.answer)
		}
		if w.single() && a.err == nil {
			return v.giveUp(nil)
		}
		if h, over, err := v.pause(a); over {
			return h, err
		}
	}
}

// settled reports whether the waiter's fate was decided by somebody else: by a
// hand-off, or by another call of the same owner.
func (v *vigil) settled() (h *holding, over bool, err error) {
	v.q.mu.Lock()
	defer v.q.mu.Unlock()
	switch v.w.state {
	case granted, rejoined:
		return v.w.hold, true, nil
	case refused:
		return nil, true, v.notAcquired(v.w.refusal)
	default:
		return nil, false, nil
	}
}

// busy notes that the lock is somebody else's.
func (v *vigil) busy(answer lua.Granted) {
	v.last, v.answered, v.failures, v.failure = answer, true, 0, nil
	if v.w.single() {
		return // one attempt, no wait
	}
	v.tellWaiting()
	v.q.mu.Lock()
	v.q.listen()
	v.q.overhear(answer)
	v.q.mu.Unlock()
}

// failed notes an attempt without an answer, and returns an error if that is the
// end of the wait. While Redis has answered nothing at all the call fails after four
// attempts, but not at once: go-redis refuses to dial for up to a second after Redis is back,
// and four attempts are over in a tenth of that. A waiter that knows the lock to be busy bears
// an outage of one lease, by when whoever held the lock has lost it.
func (v *vigil) failed(err error) error {
	v.failure = err
	if v.failures++; v.failures == 1 {
		v.failingFrom = v.outageFrom()
	}
	if !lua.Retryable(err) || errors.Is(err, ErrReplicas) {
		return err
	}
	failing, atLeast := time.Since(v.failingFrom), retryWithin
	if errors.Is(err, errTooLate) {
		atLeast = 0 // Redis is there, and no better for being asked again
	}
	switch many := v.failures > maxRetries; {
	case v.w.quick > 0:
		return err
	case v.w.single(): // repeated as any other command
		if many || time.Since(v.w.began) > retryWithin {
			return err
		}
	case !v.answered && many && failing > atLeast, failing > max(atLeast, v.q.c.cfg.lease):
		return err
	}
	return nil
}

// outageFrom is since when the wait has borne the outage that begins with this failure, or goes on
// after those who led before.
func (v *vigil) outageFrom() time.Time {
	v.q.mu.Lock()
	defer v.q.mu.Unlock()
	if from := v.w.failing; !from.IsZero() && v.q.answers == v.w.answers {
		return from
	}
	return time.Now()
}

// interrupted ends a wait during an attempt. The attempt goes on by itself and
// gives back what it is granted.
func (v *vigil) interrupted() (*holding, error) {
	switch {
	case v.ctx.Err() != nil:
		return v.ctxEnded()
	case v.q.c.isClosing():
		return v.giveUp(ErrClosed)
	case v.saysBusy():
		return v.giveUp(nil)
	case v.failure != nil:
		return v.giveUp(v.failure)
	default:
		return v.giveUp(v.why.noAnswer())
	}
}

func (v *vigil) tellWaiting() {
	if !v.told {
		v.told = true
		if v.q.c.events.Waiting == nil && v.q.c.logger == nil {
			return // most calls: the holder's name is looked up for nobody
		}
		holder := v.last.Holder
		v.q.c.waiting(Event{Ctx: v.w.ctx, Name: v.q.name, Owner: v.w.owner, Holder: holder, HolderName: v.q.c.nameOf(holder)})
	}
}
