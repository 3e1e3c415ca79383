package reentrant

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/lua"
)

// release takes the turn for releaseInTurn.
func (s *lockState) release(ctx context.Context, o *ownership) error {
	return s.releaseInTurn(ctx, s.takeTurn(), o)
}

// releaseInTurn ends an ownership whose state is releasing, and the turn. The lock goes to the next waiter of this
// Client, or is freed. If that waiter leaves while the lock is on its way to it, or is refused, the lock goes on from
// there in the background: the caller of Unlock does not wait for what becomes of the others. The error is about o
// alone.
func (s *lockState) releaseInTurn(ctx context.Context, t turn, o *ownership) error {
	passed := false // the turn, to goOn
	defer func() {
		if !passed {
			t.done()
		}
	}()
	next, err := s.handOffOrFree(ctx, t, o)
	if next == nil {
		return err
	}
	passed = true
	goOn := func() {
		defer t.done()
		for next != nil {
			next, _ = s.handOffOrFree(ctx, t, next) // its error is cleaned up after
		}
	}
	if !s.goBackground(goOn) {
		goOn()
	}
	return err
}

// handOffOrFree ends one ownership. It returns the next one to release, if the waiter that got the lock
// has left.
func (s *lockState) handOffOrFree(ctx context.Context, t turn, o *ownership) (next *ownership, err error) {
	if w := s.nextOwner(o); w != nil {
		return s.transfer(ctx, t, o, w)
	}
	return nil, s.free(ctx, t, o)
}

// nextOwner is the waiter to whom the lock goes without being freed in between.
func (s *lockState) nextOwner(o *ownership) *waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.waiters.first
	switch {
	case w == nil, o.lease.parting != nil, s.c.cfg.handoff == Remote, s.c.isClosing():
		return nil
	case w.owner == o.lease.field.owner: // from and to would be one field
		return nil
	case o.lease.field.moving(): // from which of the two?
		return nil
	case s.budget.mustYield(time.Now()):
		return nil
	}
	return w
}

// transfer hands the lock over to w. It returns an ownership that is to be released in turn, if w has left.
func (s *lockState) transfer(ctx context.Context, t turn, o *ownership, w *waiter) (next *ownership, err error) {
	acks := s.c.replicaAcks(s.keys.Lock)
	var sent time.Time
	returned := false
	defer func() {
		if !returned {
			_ = s.transferUnanswered(o, w, sent, errAborted)
		}
	}()
	move := &lua.Transfer{From: o.lease.field.owner, To: w.owner, Lease: w.lease, Fencing: w.fencing}
	g, before, err := t.transfer(ctx, acks, move, &sent)
	returned = true
	switch {
	case lua.ForeignKey(err):
		return nil, s.settleRelease(o, false, lua.NotHeld, nil)
	case err != nil && !before:
		// Refused, by a full Redis for one: what needs no memory may still do.
		return nil, s.free(ctx, t, o)
	case err != nil:
		return nil, s.transferUnanswered(o, w, sent, err)
	case g.Verdict == lua.NotHeld:
		// A try without an answer that had run would have left the waiter's field there
		// for a lease: then this says that the lock was lost before.
		return nil, s.settleRelease(o, before && time.Since(sent) >= w.lease, g.Verdict, nil)
	}
	if next = s.settleTransfer(o, w, g, sent, acks); next == nil {
		return nil, nil // the waiter tells the hand-off
	}
	told := false
	defer func() {
		if !told { // and next is known to nobody else
			_ = s.settleRelease(next, true, lua.Done, errAborted)
		}
	}()
	o.tellOver(next.since.Sub(o.since), nil)
	told = true
	return next, nil
}

// settleTransfer ends o and makes w the holder. If w has left, or is refused, it returns what w would have had, which
// is to be released.
func (s *lockState) settleTransfer(o *ownership, w *waiter, g lua.Granted, sent time.Time, acks *replicaAcks) (unwanted *ownership) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.budget.used++
	s.budget.learn(g, time.Now())
	o.end(ErrReleased)
	to := s.hold(&w.request, g, sent)
	refusal := s.refusal(to, w, acks)
	if refusal == nil {
		w.handedBy = o
		s.grant(w, to)
		if !o.refused {
			s.c.counters.handedOver.Add(1)
		}
		return nil
	}
	to.refused = true
	to.beginRelease(refusal)
	if acks.missing() > 0 && w.state != left {
		w.refusal = refusal
		s.remove(w, refused)
	}
	return to
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
func (s *lockState) free(ctx context.Context, t turn, o *ownership) error {
	s.afterRedisson.Store(false)
	returned := false
	defer func() {
		if !returned {
			_ = s.settleRelease(o, true, lua.Done, errAborted)
		}
	}()
	l := o.lease
	v, before, err := t.free(ctx, s.c.commands, l.field.owner, l.parting)
	if err == nil && v == lua.NotHeld && l.field.moving() {
		// The field had been moved by a command that was not answered. If it runs only
		// now it is stale: the first release has set the epoch.
		var again bool
		v, again, err = t.free(ctx, s.c.commands, l.field.next, l.parting)
		before = before || again
	}
	returned = true
	if lua.ForeignKey(err) {
		v, err = lua.NotHeld, nil // another client has written over the lock
	}
	return s.settleRelease(o, before, v, err)
}

// settleRelease ends an ownership with what Redis said of its release.
func (s *lockState) settleRelease(o *ownership, before bool, v lua.Verdict, err error) error {
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
	case v == lua.NotHeld && !before:
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
