package reentrant

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/lua"
	"github.com/redlatch/redlatch/watchdog"
)

// registryTTL is how long Redis remembers who waits: several polls, each of which
// renews it, so that only the dead are forgotten.
const registryTTL = time.Minute

// attempt is what came of one try for the lock.
type attempt struct {
	hold      *ownership  // granted
	answer    lua.Granted // busy
	heard     bool        // the client was registered, and messages would reach it
	overtaken bool        // the waiter's state was settled otherwise meanwhile
	err       error
}

// attempt tries once to take the lock for the head of the queue. It runs to its end
// whether or not the call still waits, and gives back what nobody wants any more.
func (s *lockState) attempt(ctx context.Context, w *waiter) attempt {
	t, ok := s.takeTurnUnless(w.gone)
	if !ok {
		return attempt{overtaken: true}
	}
	got, unwanted := s.attemptInTurn(ctx, t, w)
	switch {
	case unwanted != nil:
		_ = s.releaseInTurn(ctx, t, unwanted) // its error is cleaned up after
	case got.hold != nil && !s.c.mute:
		// Without the turn: an event function that takes its time must not keep others from their commands.
		o := got.hold
		o.announce(func() {
			s.c.acquired(Event{Ctx: w.ctx, Name: s.name, Owner: o.owner, Token: o.token, Waited: time.Since(w.began)})
		})
	}
	return got
}

// attemptInTurn sends the command and settles its answer. It ends the turn, unless it returns an
// ownership that Redis has granted and nobody wants: then the caller releases that with the turn.
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

// beginAttempt reports false if w leads no more. since is the Client's arrival in the registry of waiters,
// and heard says that messages would reach the Client, so that it can register.
func (s *lockState) beginAttempt(w *waiter) (heard bool, since int64, leads bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.state != leading {
		return false, 0, false
	}
	s.resumeListening()
	if s.wakeups != nil {
		s.wakeups.drain() // this attempt comes after all that they told
	}
	s.outage.begin(time.Now())
	return s.listening(), s.since, true
}

// settleAttempt makes the waiter the holder, or notes why it is not. unwanted is an ownership that was granted and
// must be released.
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

// refusal says why a lock that Redis granted is not to be held. The caller has
// lockState.mu.
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

// attemptFailed notes what is left to clean up after an attempt that ended with err. The
// caller has lockState.mu.
func (s *lockState) attemptFailed(w *waiter, heard bool, err error) {
	if lua.Unknown(err) {
		w.unknownOutcome = true
		if w.state == left {
			s.cleanUp(w.owner, time.Now().Add(w.lease))
		}
		if heard && s.since == 0 {
			s.since = lua.MaybeRegistered // or nobody would ever take us out
		}
	}
	s.leaveRegistry()
}

// attemptAborted settles an attempt whose command has not returned.
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

// giveUp ends the wait of a call: because of err, or at the limit of the wait if
// that is nil. If the lock was granted at this very moment, a call that reached its
// limit keeps it and any other gives it back.
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
		a.busyAtDeadline = false // this owner has it
		s.mu.Unlock()
	case refused:
		a.busyAtDeadline = false
		if err == nil {
			err = w.refusal // at this very moment: Redis has been silent, and not said that the lock is busy
		}
		s.mu.Unlock()
	default:
		s.leaveQueue(w)
		s.mu.Unlock()
	}
	return nil, a.notAcquired(err)
}

// leaveQueue takes a waiter out whose call ends without the lock. The caller has lockState.mu.
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

// leaveAborted takes out a waiter whose call does not return, as a hook of go-redis or an event function has
// panicked or ended the goroutine: the others must not wait for it, nor it keep a lock that nobody knows of.
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

// giveBack takes back, in the background, the hold of a call that has left at the
// moment of its grant. Another call of the same owner may have entered since, whose
// hold stays. It reports that the Client is closed and that it has ended the ownership: the caller,
// who has lockState.mu, is to tell that.
func (s *lockState) giveBack(ctx context.Context, o *ownership, kind holdKind, err error) (closed bool) {
	if o.state != live {
		s.forgetLoss(o, kind) // nobody will unlock it
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

func (a *acquisition) notAcquired(err error) error {
	return &NotAcquiredError{
		Name: a.s.name, Holder: a.lastAnswer.Holder, TTL: a.lastAnswer.TTL,
		Waited: time.Since(a.w.began), Busy: err == nil || a.busyAtDeadline, Err: err, client: a.s.c.id,
	}
}
