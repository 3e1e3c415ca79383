package reentrant

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/lua"
)

// arrival is what a waiter found when it joined the wait queue. The lock state notifies the waiter of
// later changes.
type arrival struct {
	leads bool
	ahead *ownership // the holder, nil if no owner of this Client holds the lock
	busy  bool       // this Client itself knows that another owner has the lock
}

// await takes a waiter from its arrival to the end of its wait. It returns nil and no error when another
// call of the waiter's owner has got the lock: then the caller re-enters.
func (s *lockState) await(ctx context.Context, w *waiter, at arrival) (*ownership, error) {
	s.c.counters.waiting.Add(1)
	limit, stop := w.limit()
	a := &acquisition{s: s, w: w, ctx: ctx, limit: limit, why: s.c.inquire(&w.request, s.keys.Lock)}
	defer func() { // one defer: of several the compiler would keep a list
		a.why.stop()
		stop()
		s.c.counters.waiting.Add(-1)
	}()
	if at.leads {
		return a.lead()
	}
	a.answered = at.busy
	if at.ahead != nil {
		a.lastAnswer.Holder = at.ahead.owner
	}
	a.tellWaiting()
	for {
		select {
		case <-w.notified:
		case <-ctx.Done():
			a.askQueue()
			return a.ctxEnded()
		case <-limit:
			a.askQueue()
			return a.interrupted()
		}
		if o, over, err := a.settled(); over {
			return o, err
		}
		if s.c.isClosing() { // Close notifies each waiter: one channel less to wait for
			return a.giveUp(ErrClosed)
		}
		if a.askQueue() {
			return a.lead()
		}
	}
}

// askQueue learns two things: whether Redis has answered an attempt of a waiter that led meanwhile, and
// whether this waiter leads now.
func (a *acquisition) askQueue() (leads bool) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	a.answered = a.answered || a.s.outage.answers != a.w.answers
	return a.w.state == leading
}

// acquisition is the wait of one call, from its attempts to the grant or its end. It belongs to the
// calling goroutine.
type acquisition struct {
	s     *lockState
	w     *waiter
	ctx   context.Context
	limit <-chan time.Time
	why   *inquiry

	lastAnswer     lua.Granted // Redis' last answer
	answered       bool        // whether Redis has answered, or this Client knew that the lock was busy
	toldWaiting    bool        // the Waiting event was sent
	busyAtDeadline bool        // ctx's deadline ended the wait, and the lock was busy then

	failures    int       // failed attempts in a row: no answer, or Redis could not serve them
	failingFrom time.Time // when the outage began that this call has borne
	failure     error     // the last of them

	pollEvery time.Duration // until the next attempt without a wake-up
	paidUntil time.Time     // when the attempts that wake-ups called for are paid for (pause.go)
}

// lead tries until the lock is granted or the wait is over. Between two attempts it waits for the first
// of: a wake-up, the end of the holder's lease, the poll.
func (a *acquisition) lead() (*ownership, error) {
	s, w := a.s, a.w
	for {
		var got attempt
		err := s.call(a.ctx, a.limit, s.c.closing, func(ctx context.Context) { got = s.attempt(ctx, w) })
		switch {
		case errors.Is(err, ErrClosed):
			return a.giveUp(ErrClosed)
		case errors.Is(err, errAborted):
			return a.giveUp(err)
		case err != nil:
			return a.interrupted()
		case got.hold != nil:
			return got.hold, nil
		case got.overtaken:
			o, _, err := a.settled()
			return o, err
		case got.err != nil:
			if err := a.failed(got.err); err != nil {
				if !w.single() { // a single attempt gives up sooner than a wait
					s.endWaits(w, a.failingFrom, a.answered, err)
				}
				return a.giveUp(err)
			}
		default:
			a.busy(got.answer)
		}
		if w.single() && got.err == nil {
			return a.giveUp(nil)
		}
		if o, over, err := a.pause(got); over {
			return o, err
		}
	}
}

// settled reports whether another goroutine has ended this wait: by a hand-off, by a grant to another
// call of the same owner, or with an error (the state refused).
func (a *acquisition) settled() (o *ownership, over bool, err error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	switch a.w.state {
	case granted, rejoined:
		return a.w.hold, true, nil
	case refused:
		return nil, true, a.notAcquired(a.w.refusal)
	default:
		return nil, false, nil
	}
}

// busy notes that another owner has the lock.
func (a *acquisition) busy(answer lua.Granted) {
	a.lastAnswer, a.answered, a.failures, a.failure = answer, true, 0, nil
	if a.w.single() {
		return // one attempt, no wait
	}
	a.tellWaiting()
	a.s.mu.Lock()
	a.s.listen()
	a.s.listenForRedisson(answer)
	a.s.mu.Unlock()
}

// failed notes an attempt that failed, and returns an error if that ends the wait. There are two limits:
//
//   - Redis has answered nothing at all: four attempts, and more than 2 s. Four attempts alone may be
//     over in a tenth of a second, and go-redis refuses to dial for up to a second after Redis is back.
//   - The waiter knows that the lock was busy: more than one lease, and more than 2 s. After one lease
//     without Redis the holder has lost the lock.
func (a *acquisition) failed(err error) error {
	a.failure = err
	if a.failures++; a.failures == 1 {
		a.s.mu.Lock()
		a.failingFrom = a.s.outage.startFor(a.w, time.Now())
		a.s.mu.Unlock()
	}
	if !lua.Retryable(err) || errors.Is(err, ErrReplicas) {
		return err
	}
	failing, atLeast := time.Since(a.failingFrom), retryWithin
	if errors.Is(err, errTooLate) {
		atLeast = 0 // Redis has answered: to ask it for longer does not help
	}
	switch many := a.failures > maxRetries; {
	case a.w.quick > 0:
		return err
	case a.w.single(): // repeated as any other command
		if many || time.Since(a.w.began) > retryWithin {
			return err
		}
	case !a.answered && many && failing > atLeast, failing > max(atLeast, a.s.c.cfg.lease):
		return err
	}
	return nil
}

// interrupted ends a wait whose attempt is still under way. The attempt goes on in the background, and
// gives back what Redis grants.
func (a *acquisition) interrupted() (*ownership, error) {
	switch {
	case a.ctx.Err() != nil:
		return a.ctxEnded()
	case a.s.c.isClosing():
		return a.giveUp(ErrClosed)
	case a.saysBusy():
		return a.giveUp(nil)
	case a.failure != nil:
		return a.giveUp(a.failure)
	default:
		return a.giveUp(a.why.noAnswer())
	}
}

// tellWaiting tells the event Waiting, once for each call.
func (a *acquisition) tellWaiting() {
	if !a.toldWaiting {
		a.toldWaiting = true
		if a.s.c.events.Waiting == nil && a.s.c.logger == nil {
			return // nobody listens: do not look up the holder's name
		}
		holder := a.lastAnswer.Holder
		a.s.c.waiting(Event{Ctx: a.w.ctx, Name: a.s.name, Owner: a.w.owner, Holder: holder, HolderName: a.s.c.nameOf(holder)})
	}
}
