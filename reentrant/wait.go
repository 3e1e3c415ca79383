package reentrant

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/internal/lockstate"
	"github.com/redlatch/redlatch/lua"
)

// arrival is what a waiter found when it joined the wait queue. The lock state notifies the waiter of
// later changes.
type arrival struct {
	leads bool
	ahead string // the owner of this Client that has the lock; empty if none has
}

// await takes a waiter from its arrival to the end of its wait. It returns nil and no error when another
// call of the waiter's owner has got the lock: then the caller re-enters.
func (s *lockState) await(ctx context.Context, w *waiter, at arrival) (*ownership, error) {
	s.c.counters.waiting.Add(1)
	limit, stop := w.limit(w.Began)
	a := &acquisition{s: s, w: w, ctx: ctx, limit: limit, why: s.c.inquire(w.quick, s.keys.Lock)}
	defer func() { // one defer: of several the compiler would keep a list
		a.why.stop()
		stop()
		s.c.counters.waiting.Add(-1)
	}()
	if !at.leads {
		a.lastAnswer.Holder = at.ahead
		a.tellWaiting()
	}
	for leads := at.leads; ; leads = a.askQueue() {
		if leads {
			if o, over, err := a.lead(); over {
				return o, err
			}
		}
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
	}
}

// askQueue learns two things: whether Redis has answered an attempt of a waiter that led meanwhile, and
// whether this waiter leads now.
func (a *acquisition) askQueue() (leads bool) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	a.s.state.Hear(&a.w.Waiter)
	return a.w.State() == lockstate.Leading
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
	toldWaiting    bool        // the Waiting event was sent
	busyAtDeadline bool        // ctx's deadline ended the wait, and the lock was busy then

	pollEvery time.Duration // until the next attempt without a wake-up
	paidUntil time.Time     // when the attempts that wake-ups called for are paid for (pause.go)
}

// lead tries until the lock is granted or the wait is over. Between two attempts it waits for the first
// of: a wake-up, the end of the holder's lease, the poll. The wait is not over if the waiter has lost the lead, and is
// in the queue still.
func (a *acquisition) lead() (o *ownership, over bool, err error) {
	w := a.w
	if w.gone == nil {
		w.gone = make(chan struct{})
	}
	for {
		got, err := a.try()
		switch {
		case errors.Is(err, ErrClosed):
			return ended(a.giveUp(ErrClosed))
		case errors.Is(err, errAborted):
			return ended(a.giveUp(err))
		case err != nil:
			return ended(a.interrupted())
		case got.hold != nil:
			return got.hold, true, nil
		case got.overtaken:
			return a.settled()
		case got.err != nil:
			if a.failed(got.err) {
				return ended(a.giveUp(got.err))
			}
		default:
			a.busy(got.answer)
		}
		if w.single() && got.err == nil {
			return ended(a.giveUp(nil))
		}
		if o, over, err := a.pause(got); over {
			return o, true, err
		}
	}
}

func ended(o *ownership, err error) (*ownership, bool, error) { return o, true, err }

// try makes one attempt. It waits for the answer as [Client.call] does.
func (a *acquisition) try() (attempt, error) {
	s, w := a.s, a.w
	if t, ok := s.startNow(a.ctx, a.limit); ok {
		f, leads := s.prepare(t, w)
		if !leads {
			t.done()
			s.endCall()
			return attempt{overtaken: true}, nil
		}
		return f.fly(a.ctx, a.limit)
	}
	var got attempt
	if err := s.call(a.ctx, a.limit, s.c.closing, func(ctx context.Context) { got = s.attempt(ctx, w) }); err != nil {
		return attempt{}, err // and the attempt may still write its result
	}
	return got, nil
}

// settled reports whether another goroutine has ended this wait: by a hand-off, by a grant to another
// call of the same owner, or with an error (the state refused).
func (a *acquisition) settled() (o *ownership, over bool, err error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	switch a.w.State() {
	case lockstate.Granted:
		return ownershipOf(a.w.Ownership()), true, nil
	case lockstate.Rejoined:
		return nil, true, nil
	case lockstate.Refused:
		return nil, true, a.notAcquired(a.w.Refusal())
	default:
		return nil, false, nil
	}
}

// busy notes that another owner has the lock.
func (a *acquisition) busy(answer lua.Granted) {
	a.lastAnswer = answer
	a.s.mu.Lock()
	a.w.KnewBusy()
	a.s.mu.Unlock()
	if a.w.single() {
		return // one attempt, no wait
	}
	a.tellWaiting()
	a.s.mu.Lock()
	a.s.listen()
	if a.s.kind.lines {
		a.s.listenInLine(a.w, answer)
	} else {
		a.s.listenForRedisson(answer)
	}
	a.s.mu.Unlock()
}

// failed notes an attempt that failed, and reports whether that ends the wait.
func (a *acquisition) failed(err error) (over bool) {
	f := lockstate.Failure{Err: err}
	f.Final = !lua.Retryable(err) || errors.Is(err, ErrReplicas)
	f.Late = errors.Is(err, errTooLate)
	f.Alone = f.Final || f.Late || errors.Is(err, errStale)
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	return a.s.state.FailedAttempt(&a.w.Waiter, f, time.Now())
}

// failures is how many attempts have failed in a row.
func (a *acquisition) failures() int {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	return a.w.Failures()
}

// failure is the error of the last attempt, if that failed.
func (a *acquisition) failure() error {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	return a.w.Failure()
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
	}
	if err := a.failure(); err != nil {
		return a.giveUp(err)
	}
	return a.giveUp(a.why.noAnswer())
}

// tellWaiting tells the event Waiting, once for each call.
func (a *acquisition) tellWaiting() {
	if !a.toldWaiting {
		a.toldWaiting = true
		if a.s.c.events.Waiting == nil && a.s.c.logger == nil {
			return // nobody listens: do not look up the holder's name
		}
		holder := a.lastAnswer.Holder
		a.s.c.waiting(Event{Ctx: a.w.ctx, Call: a.w.number, Name: a.s.name, Kind: a.s.kind.eventKind(a.w.Mode), Owner: a.w.Owner, Holder: holder, HolderName: a.s.c.nameOf(holder)})
	}
}
