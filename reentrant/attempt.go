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
	select {
	case s.wire <- struct{}{}:
	case <-w.gone:
		return attempt{overtaken: true}
	}
	wired := true
	defer func() {
		if wired {
			<-s.wire
		}
	}()

	s.mu.Lock()
	if w.state != leading {
		s.mu.Unlock()
		return attempt{overtaken: true}
	}
	s.resumeListening()
	heard, since := s.listening(), s.since
	if s.wakeups != nil {
		s.wakeups.drain() // whatever they told, this attempt comes after it
	}
	s.asked = time.Now()
	s.mu.Unlock()

	order := s.order()
	command := lua.Acquire{
		Owner: w.owner, Lease: w.lease, Order: order,
		Client: s.c.id, Since: since, Fencing: w.fencing,
	}
	if heard {
		command.Register = registryTTL
	}
	command.AfterRedisson = s.afterRedisson.Load()
	acks := s.c.replicaAcks(s.keys.Lock)
	sent := time.Now()
	returned := false
	defer func() {
		if !returned {
			s.attemptAborted(w, order, heard)
		}
	}()
	answer, err := command.Run(ctx, acks, &s.keys)
	returned = true
	if err == nil && answer.Verdict == lua.Stale {
		err = errStale
	}
	s.settle(order, err)

	s.mu.Lock()
	s.asked = time.Time{}
	s.busy = err == nil && answer.Verdict == lua.Busy && s.waiters.first != nil
	if err == nil {
		s.answers++
	}
	switch {
	case err != nil:
		s.attemptFailed(w, heard, err)
		s.mu.Unlock()
		return attempt{err: s.explain(ctx, err)}
	case answer.Verdict == lua.Busy:
		if heard {
			s.since = answer.Since
		}
		s.leaveRegistry()
		s.mu.Unlock()
		return attempt{answer: answer, heard: heard}
	}

	s.since = 0
	s.budget.reset(time.Now())
	o := s.hold(&w.request, answer, sent)
	refusal := s.refusal(o, w, acks)
	if refusal == nil {
		s.grant(w, o)
		s.mu.Unlock()
		wired = false
		<-s.wire // an event function that takes its time must not keep others from their commands
		if !s.c.mute {
			o.announce(func() {
				s.c.acquired(Event{Ctx: w.ctx, Name: s.name, Owner: o.owner, Token: o.token, Waited: time.Since(w.began)})
			})
		}
		return attempt{hold: o}
	}
	o.refused = true
	o.beginRelease(refusal)
	s.mu.Unlock()
	wired = false
	_ = s.releaseInTurn(ctx, o) // its error is cleaned up after
	return attempt{err: refusal}
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

// attemptAborted settles an attempt whose command has not returned. The caller has the wire.
func (s *lockState) attemptAborted(w *waiter, order lua.Order, heard bool) {
	s.settle(order, errAborted)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked, s.busy = time.Time{}, false
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
