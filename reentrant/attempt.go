package reentrant

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/lua"
	"github.com/redlatch/redlatch/watchdog"
)

// registryTTL is how long Redis keeps a Client in the registry of waiters. Each poll renews it. It is as
// long as several polls, so Redis forgets only Clients that are gone.
const registryTTL = time.Minute

// attempt is the result of one try for the lock.
type attempt struct {
	hold      *ownership  // granted
	answer    lua.Granted // busy
	heard     bool        // the Client was registered, and wake-ups would reach it
	overtaken bool        // another goroutine has ended the waiter's lead meanwhile
	err       error
}

// attempt tries once to take the lock for the first waiter. It runs to its end whether or not the call
// still waits, and gives back a lock that its call does not want any more.
func (s *lockState) attempt(ctx context.Context, w *waiter) attempt {
	t, ok := s.takeTurnUnless(w.gone)
	if !ok {
		return attempt{overtaken: true}
	}
	got, unwanted := s.attemptInTurn(ctx, t, w)
	switch {
	case unwanted != nil:
		_ = s.releaseInTurn(ctx, t, unwanted) // after an error a clean-up goes on
	case got.hold != nil && !s.c.mute:
		// Without the turn: a slow event function must not hold up the lock's commands.
		o := got.hold
		o.announce(func() {
			s.c.acquired(Event{Ctx: w.ctx, Name: s.name, Owner: o.owner, Token: o.token, Waited: time.Since(w.began)})
		})
	}
	return got
}

// attemptInTurn sends the command and settles its answer. It ends the turn, with one exception: if it
// returns an ownership that Redis has granted and no call wants, the caller releases that with the turn.
func (s *lockState) attemptInTurn(ctx context.Context, t turn, w *waiter) (got attempt, unwanted *ownership) {
	defer func() {
		if unwanted == nil {
			t.done()
		}
	}()
	heard, since, leads := s.beginAttempt(w)
	if !leads {
		return attempt{overtaken: true}, nil
	}
	order := t.order()
	command := lua.Acquire{
		Owner: w.owner, Lease: w.lease, Order: order,
		Client: s.c.id, Since: since, Fencing: w.fencing, AfterRedisson: s.afterRedisson.Load(),
	}
	if heard {
		command.Register = registryTTL
	}
	acks := s.c.replicaAcks(s.keys.Lock)
	sent := time.Now()
	returned := false
	defer func() {
		if !returned {
			s.attemptAborted(t, w, order, heard)
		}
	}()
	answer, err := command.Run(ctx, acks, &s.keys)
	returned = true
	if err == nil && answer.Verdict == lua.Stale {
		err = errStale
	}
	t.settle(order, err)
	got, unwanted = s.settleAttempt(w, answer, err, heard, sent, acks)
	if got.err != nil && unwanted == nil {
		got.err = s.explain(ctx, got.err)
	}
	return got, unwanted
}

// beginAttempt reports whether w still leads. Otherwise it does not begin. since is the Client's arrival
// in the registry of waiters. heard says that wake-ups would reach the Client, so that it may register.
func (s *lockState) beginAttempt(w *waiter) (heard bool, since int64, leads bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.state != leading {
		return false, 0, false
	}
	s.resumeListening()
	if s.wakeups != nil {
		s.wakeups.drain() // this attempt comes after these wake-ups
	}
	s.outage.begin(time.Now())
	return s.listening(), s.since, true
}

// settleAttempt makes the waiter the holder, or notes why it is not. unwanted is an ownership that Redis
// has granted and that the caller must release.
func (s *lockState) settleAttempt(w *waiter, answer lua.Granted, err error, heard bool, sent time.Time, acks *replicaAcks) (got attempt, unwanted *ownership) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outage.end()
	s.busy = err == nil && answer.Verdict == lua.Busy && s.waiters.first != nil
	if err != nil {
		s.attemptFailed(w, heard, err)
		return attempt{err: err}, nil
	}
	s.outage.answers++
	if answer.Verdict == lua.Busy {
		if heard {
			s.since = answer.Since
		}
		s.leaveRegistry()
		return attempt{answer: answer, heard: heard}, nil
	}
	s.since = 0
	s.budget.reset(time.Now())
	o := s.hold(&w.request, answer, sent)
	if refusal := s.refusal(o, w, acks); refusal != nil {
		o.refused = true
		o.beginRelease(refusal)
		return attempt{err: refusal}, o
	}
	s.grant(w, o)
	return attempt{hold: o}, nil
}

// refusal says why this Client gives back a lock that Redis has just granted: the call has left, the
// Client closes, replicas are missing, or the lease is over already. The caller has lockState.mu.
func (s *lockState) refusal(o *ownership, w *waiter, acks *replicaAcks) error {
	switch {
	case w.state == left:
		return errInterrupted
	case s.c.isClosing():
		return ErrClosed
	case acks.missing() > 0:
		return &ReplicasError{Name: s.name, Want: s.c.cfg.replicas, Got: acks.acks}
	case watchdog.Passed(o.lease.validUntil()):
		return errTooLate
	}
	return nil
}

// attemptFailed notes what an attempt that ended with err may have left in Redis. If its outcome is
// unknown, the owner's field may be there, and the Client may be in the registry of waiters. The caller
// has lockState.mu.
func (s *lockState) attemptFailed(w *waiter, heard bool, err error) {
	if lua.Unknown(err) {
		w.unknownOutcome = true
		if w.state == left {
			s.cleanUp(w.owner, time.Now().Add(w.lease))
		}
		if heard && s.since == 0 {
			s.since = lua.MaybeRegistered // otherwise leaveRegistry would not take this Client out
		}
	}
	s.leaveRegistry()
}

// attemptAborted settles an attempt whose goroutine ended during the command, in a hook of go-redis.
func (s *lockState) attemptAborted(t turn, w *waiter, order lua.Order, heard bool) {
	t.settle(order, errAborted)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outage.end()
	s.busy = false
	s.attemptFailed(w, heard, errAborted)
}

// explain gives an error of Redis the form in which callers see it.
func (s *lockState) explain(ctx context.Context, err error) error {
	if lua.ForeignKey(err) {
		return s.c.foreign(ctx, s.name, s.keys.Lock, err)
	}
	return err
}

// giveUp ends the wait of a call: because of err, or at the limit of the wait if err is nil. The lock may
// have been granted at this very moment. A call that reached its limit keeps that lock, unless the Client
// closes; any other call gives it back.
func (a *acquisition) giveUp(err error) (*ownership, error) {
	s, w := a.s, a.w
	s.mu.Lock()
	switch w.state {
	case granted:
		o := w.hold
		a.busyAtDeadline = false
		if err == nil || a.ctx.Err() == nil && !s.c.isClosing() {
			s.mu.Unlock()
			return o, nil
		}
		if w.handedBy != nil {
			s.mu.Unlock()
			s.c.granted(w)
			s.mu.Lock()
		}
		closed := s.giveBack(context.WithoutCancel(a.ctx), o, w.holdKind, err)
		s.mu.Unlock()
		if closed {
			o.tellClosed()
		}
	case rejoined:
		a.busyAtDeadline = false // another call of this owner has the lock
		s.mu.Unlock()
	case refused:
		a.busyAtDeadline = false
		if err == nil {
			err = w.refusal // refused at this very moment: Redis was silent
		}
		s.mu.Unlock()
	default:
		s.leaveQueue(w)
		s.mu.Unlock()
	}
	return nil, a.notAcquired(err)
}

// leaveQueue takes a waiter out of the wait queue. Its call ends without the lock. The caller has
// lockState.mu.
func (s *lockState) leaveQueue(w *waiter) {
	s.remove(w, left)
	if w.gone != nil {
		close(w.gone)
	}
	if w.unknownOutcome {
		s.cleanUp(w.owner, time.Now().Add(w.lease))
	}
	s.promote()
	s.leaveRegistry()
}

// leaveAborted takes out a waiter whose call does not return: a hook of go-redis or an event function has
// panicked or ended the goroutine. Otherwise the waiters behind it would wait for ever, or it would keep
// a lock that no call releases.
func (s *lockState) leaveAborted(ctx context.Context, w *waiter) {
	s.mu.Lock()
	switch w.state {
	case granted:
		if w.handedBy != nil && !w.handOffTold {
			defer s.c.granted(w)
		}
		closed := s.giveBack(context.WithoutCancel(ctx), w.hold, w.holdKind, errAborted)
		s.mu.Unlock()
		if closed {
			w.hold.tellClosed()
		}
		return
	case queued, leading:
		s.leaveQueue(w)
	}
	s.mu.Unlock()
}

// giveBack takes back, in the background, the hold of a call that left at the moment of its grant.
// Another call of the same owner may have entered since; its hold stays. giveBack reports true if the
// Client is closed and giveBack has ended the ownership: then the caller tells that, without
// lockState.mu, which it has now.
func (s *lockState) giveBack(ctx context.Context, o *ownership, kind holdKind, err error) (closed bool) {
	if o.state != live {
		s.forgetLoss(o, kind) // its call will not unlock it
		return false
	}
	o.pop(kind, err)
	last := o.state == releasing
	if last {
		o.lease.by = ctx
	}
	begun := s.goBackground(func() {
		if last {
			s.release(ctx, o)
		} else {
			s.sendCount(ctx, o)
		}
	})
	if !begun && last {
		o.end(ErrClosed)
	}
	return !begun && last
}

// notAcquired is the error of a call whose wait ended with err, or at its limit if err is nil.
func (a *acquisition) notAcquired(err error) error {
	return &NotAcquiredError{
		Name: a.s.name, Holder: a.lastAnswer.Holder, TTL: a.lastAnswer.TTL,
		Waited: time.Since(a.w.began), Busy: err == nil || a.busyAtDeadline, Err: err, client: a.s.c.id,
	}
}
