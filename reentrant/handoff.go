package reentrant

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/lua"
)

// release is letGo for a caller that does not have the wire.
func (s *lockState) release(ctx context.Context, o *ownership) error {
	s.wire <- struct{}{}
	return s.releaseInTurn(ctx, o)
}

// releaseInTurn brings an ownership whose state is releasing to its end: the lock goes to the
// next waiter of this Client, or is freed. A waiter that leaves while the lock is on
// its way to it, or is refused, passes it on in the same manner, in the background: whoever
// releases a lock does not wait for what becomes of the others. The caller has the wire,
// and gives it up. The error is that of h's own release.
func (s *lockState) releaseInTurn(ctx context.Context, o *ownership) error {
	handed := false // the wire, to goOn
	defer func() {
		if !handed {
			<-s.wire
		}
	}()
	next, err := s.handOffOrFree(ctx, o)
	if next == nil {
		return err
	}
	handed = true
	goOn := func() {
		defer func() { <-s.wire }()
		for next != nil {
			next, _ = s.handOffOrFree(ctx, next) // its error is cleaned up after
		}
	}
	if !s.goBackground(goOn) {
		goOn()
	}
	return err
}

// handOffOrFree ends one ownership. It returns the next that is to be let go, if the waiter that
// got the lock does not want it any more.
func (s *lockState) handOffOrFree(ctx context.Context, o *ownership) (next *ownership, err error) {
	if w := s.nextOwner(o); w != nil {
		return s.transfer(ctx, o, w)
	}
	return nil, s.free(ctx, o)
}

// nextOwner is the waiter to whom the lock goes without being freed in between.
func (s *lockState) nextOwner(o *ownership) *waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.waiters.first
	switch {
	case w == nil, o.lease.parting != nil, s.c.cfg.handoff == Remote, s.c.isClosing():
		return nil
	case w.owner == o.lease.field: // from and to would be one field
		return nil
	case o.lease.next != "": // from which of the two?
		return nil
	case s.budget.mustYield(time.Now()):
		return nil
	}
	return w
}

// transfer hands the lock over. It returns an ownership that is to be let go in turn,
// if the waiter left meanwhile.
func (s *lockState) transfer(ctx context.Context, o *ownership, w *waiter) (next *ownership, err error) {
	acks := s.c.replicaAcks(s.keys.Lock)
	// Of the first try that may have run: a second one finds the waiter as the
	// holder and leaves the lease as it is.
	var sent time.Time
	returned := false
	defer func() {
		if !returned {
			_ = s.transferUnanswered(o, w, sent, errAborted)
		}
	}()
	g, doubted, err := s.sendRepeated(func(order lua.Order) (lua.Granted, error) {
		if sent.IsZero() {
			sent = time.Now()
		}
		g, err := lua.Transfer{From: o.lease.field, To: w.owner, Lease: w.lease, Order: order, Fencing: w.fencing, Wake: s.c.wakeUp()}.
			Run(ctx, acks, &s.keys)
		if err != nil && !lua.Unknown(err) && !s.doubt {
			sent = time.Time{} // has not run, nor any before it
		}
		return g, err
	})
	returned = true
	switch {
	case lua.ForeignKey(err):
		return nil, s.settleRelease(o, false, lua.NotHeld, nil)
	case err != nil && !doubted:
		// Refused, by a full Redis for one: what needs no memory may still do.
		return nil, s.free(ctx, o)
	case err != nil:
		return nil, s.transferUnanswered(o, w, sent, err)
	case g.Verdict == lua.NotHeld:
		// A try without an answer that had run would have left the waiter's field there
		// for a lease: then this says that the lock was lost before.
		return nil, s.settleRelease(o, doubted && time.Since(sent) >= w.lease, g.Verdict, nil)
	}

	s.mu.Lock()
	s.budget.used++
	s.budget.learn(g, time.Now())
	o.end(ErrReleased)
	to := s.hold(&w.request, g, sent)
	refusal := s.refusal(to, w, acks)
	if refusal == nil {
		w.handedBy = o
		s.grant(w, to)
		s.mu.Unlock()
		if !o.refused {
			s.c.counters.handedOver.Add(1)
		}
		return nil, nil
	}
	to.refused = true
	to.beginRelease(refusal)
	if acks.missing() > 0 && w.state != left {
		w.refusal = refusal
		s.remove(w, refused)
	}
	s.mu.Unlock()
	told := false
	defer func() {
		if !told { // and to is known to nobody else
			_ = s.settleRelease(to, true, lua.Done, errAborted)
		}
	}()
	o.tellOver(to.since.Sub(o.since), nil)
	told = true
	return to, nil
}

// transferUnanswered ends an ownership that was to be handed over, after a command without an answer. Either owner may have it in
// Redis. The waiter leads now, and takes what is its own; for the other there is clean-up.
func (s *lockState) transferUnanswered(o *ownership, w *waiter, sent time.Time, err error) error {
	s.mu.Lock()
	w.unknownOutcome = true
	if w.state == left {
		s.cleanUp(w.owner, sent.Add(w.lease))
	}
	s.mu.Unlock()
	return s.settleRelease(o, true, lua.Done, err)
}

// free frees the lock in Redis, which wakes the next client.
func (s *lockState) free(ctx context.Context, o *ownership) error {
	s.afterRedisson.Store(false)
	returned := false
	defer func() {
		if !returned {
			_ = s.settleRelease(o, true, lua.Done, errAborted)
		}
	}()
	verdict, doubted, err := s.freeField(ctx, o.lease.field, o.lease.parting)
	if err == nil && verdict == lua.NotHeld && o.lease.next != "" {
		// The field had been moved by a command that was not answered. If it runs only
		// now it is stale: the first release has set the epoch.
		var again bool
		verdict, again, err = s.freeField(ctx, o.lease.next, o.lease.parting)
		doubted = doubted || again
	}
	returned = true
	return s.settleRelease(o, doubted, verdict, err)
}

// freeField frees the lock if that owner's field stands in Redis.
func (s *lockState) freeField(ctx context.Context, owner string, to *parting) (v lua.Verdict, doubted bool, err error) {
	epochSet := true
	g, doubted, err := s.sendRepeated(func(order lua.Order) (lua.Granted, error) {
		verdict, set, err := s.freeing(ctx, s.c.commands, owner, to, order)
		epochSet = set || order.Epoch == 0
		return lua.Granted{Verdict: verdict}, err
	})
	if err == nil && !epochSet {
		s.doubt = true // a full Redis did not take the epoch
	}
	if lua.ForeignKey(err) {
		return lua.NotHeld, doubted, nil // somebody wrote over the lock
	}
	return g.Verdict, doubted, err
}

// settleRelease ends an ownership with what Redis said of its release.
func (s *lockState) settleRelease(o *ownership, doubted bool, v lua.Verdict, err error) error {
	s.mu.Lock()
	s.budget.reset(time.Now())
	held := time.Since(o.since)
	var lost *LostError
	switch {
	case err != nil:
		err = &UnconfirmedError{
			Name: s.name, Owner: o.owner, Err: err,
			FreeAfter: max(0, time.Until(o.lease.reach)),
		}
		o.cleanUp()
	case v == lua.NotHeld && !doubted:
		lost = &LostError{Name: s.name, Owner: o.owner, Held: held, Reason: Overridden}
		err = lost
	}
	// NotHeld after a command without an answer: that one has freed it.
	o.end(ErrReleased)
	s.promote()
	s.mu.Unlock()
	switch {
	case o.refused: // nobody has heard of it
	case lost != nil:
		o.tellLost(lost)
	default:
		o.tellOver(held, err)
	}
	return err
}
