package reentrant

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/lockstate"
	"github.com/redlatch/redlatch/lua"
)

// release takes the turn and calls releaseInTurn.
func (s *lockState) release(ctx context.Context, o *ownership) error {
	return s.releaseInTurn(ctx, s.takeTurn(), o)
}

// releaseInTurn ends an ownership whose state is releasing, and ends the turn. It hands the lock to the
// next waiter of this Client, or frees it. The error is about o alone.
//
// The next waiter may leave while the lock is on its way to it, or be refused. Then the lock goes on from
// there in the background: the caller of Unlock does not wait for what becomes of others.
func (s *lockState) releaseInTurn(ctx context.Context, t turn, o *ownership) error {
	passed := false // goOn has the turn, and ends it
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
			next, _ = s.handOffOrFree(ctx, t, next) // after an error a clean-up goes on
		}
	}
	if !s.goBackground(goOn) {
		goOn()
	}
	return err
}

// handOffOrFree ends one ownership. If it has handed the lock to a waiter that has left, it returns that
// waiter's ownership, which the caller releases next.
func (s *lockState) handOffOrFree(ctx context.Context, t turn, o *ownership) (next *ownership, err error) {
	if w := s.nextOwner(o); w != nil {
		return s.transfer(ctx, t, o, w)
	}
	return nil, s.free(ctx, t, o)
}

// nextOwner returns the waiter that gets the lock by a hand-off. It is nil if the lock has to be freed.
func (s *lockState) nextOwner(o *ownership) *waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.state.Next(&o.Ownership, time.Now()); w != nil {
		return waiterOf(w)
	}
	return nil
}

// transfer hands the lock over to w. If w has left, it returns w's ownership, which the caller releases.
func (s *lockState) transfer(ctx context.Context, t turn, o *ownership, w *waiter) (next *ownership, err error) {
	acks := s.c.replicaAcks(s.keys.Lock)
	var sent time.Time
	returned := false
	var newcomers []*lockstate.Waiter
	defer func() {
		if !returned {
			s.lined(newcomers, lua.Stale, true, errAborted)
			_ = s.transferUnanswered(o, w, errAborted)
		}
	}()
	from, _ := o.Lease().Field()
	move := &lua.Transfer{From: from, To: w.Owner, Lease: w.Lease, Fencing: w.Fencing}
	newcomers = s.takeAlong(move, w)
	g, before, err := t.transfer(ctx, acks, move, &sent)
	returned = true
	s.lined(newcomers, g.Verdict, before, err)
	switch {
	case lua.ForeignKey(err):
		return nil, s.settleRelease(o, false, lua.NotHeld, nil)
	case err != nil && !before:
		// Redis has refused the command, for example because its memory is full. To free the lock needs
		// no memory, and may still succeed.
		return nil, s.free(ctx, t, o)
	case err != nil:
		return nil, s.transferUnanswered(o, w, err)
	case g.Verdict == lua.PassedOn: // to another Client, whose turn it is
		return nil, s.settleRelease(o, true, lua.Done, nil)
	case g.Verdict == lua.NotHeld:
		// The field is not there. If an earlier try had run, w's field would be there, for w's lease:
		// within that lease this answer means that the lock was lost before. But the earlier try may have passed
		// a fair lock on.
		return nil, s.settleRelease(o, before && (s.kind.lines || time.Since(sent) >= w.Lease), g.Verdict, nil)
	}
	if next = s.settleTransfer(o, w, g, sent, acks); next == nil {
		return nil, nil // w's call tells the hand-off
	}
	s.tellHandOff(o, next)
	return next, nil
}

// tellHandOff tells that o is over. No other goroutine knows next: it is released if an event function does not return.
func (s *lockState) tellHandOff(o, next *ownership) {
	told := false
	defer func() {
		if !told {
			_ = s.settleRelease(next, true, lua.Done, errAborted)
		}
	}()
	o.tellOver(next.Since().Sub(o.Since()), nil)
	told = true
}

// settleTransfer ends o and makes w the holder. If w has left, or this Client refuses the grant, it
// returns w's ownership, which the caller releases.
func (s *lockState) settleTransfer(o *ownership, w *waiter, answer lua.Granted, sent time.Time, acks *replicaAcks) (unwanted *ownership) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := lockstate.Grant{Token: answer.Token, Sent: sent, Late: s.c.renewalsMayBeLate(), Missing: acks.missing(s.name)}
	next, refusal := s.state.Transferred(&o.Ownership, &w.Waiter, g, elsewhere(answer), time.Now())
	if refusal != lockstate.Accepted {
		return ownershipOf(next)
	}
	s.c.counters.acquired.Add(1)
	if !o.Refused() {
		s.c.counters.handedOver.Add(1)
	}
	return nil
}

// elsewhere is what an answer says of the clients that wait besides this one.
func elsewhere(g lua.Granted) lockstate.Elsewhere {
	return lockstate.Elsewhere{Clients: g.Others, Redisson: g.RedissonWaiters}
}

// transferUnanswered ends an ownership whose hand-off was not answered. Redis may have the field of
// either owner. The waiter leads now, and its attempt takes its own field; a clean-up frees the other
// one.
func (s *lockState) transferUnanswered(o *ownership, w *waiter, err error) error {
	s.mu.Lock()
	s.state.TransferUnanswered(&w.Waiter, time.Now())
	s.mu.Unlock()
	return s.settleRelease(o, true, lua.Done, err)
}

// free frees the lock in Redis. The script grants it to the next client, or wakes that one.
func (s *lockState) free(ctx context.Context, t turn, o *ownership) error {
	return s.freeAfter(ctx, t, o, false)
}

// freeAfter is free. tried: an earlier try was sent and not answered.
func (s *lockState) freeAfter(ctx context.Context, t turn, o *ownership, tried bool) error {
	s.afterRedisson.Store(false)
	returned := false
	defer func() {
		if !returned {
			_ = s.settleRelease(o, true, lua.Done, errAborted)
		}
	}()
	owner, next := o.Lease().Field()
	v, before, err := t.free(ctx, s.c.commands, owner, o.Token() != 0, o.Lease().Parting())
	before = before || tried
	if err == nil && v == lua.NotHeld && next != "" {
		// A move that was not answered may have moved the field. If it runs only now, it has no effect: the
		// first release has set the epoch.
		var again bool
		v, again, err = t.free(ctx, s.c.commands, next, o.Token() != 0, o.Lease().Parting())
		before = before || again
	}
	returned = true
	if lua.ForeignKey(err) {
		v, err = lua.NotHeld, nil // another program has written over the key
	}
	return s.settleRelease(o, before, v, err)
}

// settleRelease ends an ownership by the answer to its release.
func (s *lockState) settleRelease(o *ownership, before bool, v lua.Verdict, err error) error {
	answer := lockstate.Done
	switch {
	case err != nil:
		answer = lockstate.Unanswered
	case v == lua.NotHeld && !before:
		answer = lockstate.NotOurs
	}
	// NotHeld after a try without an answer: that try has freed the lock.
	s.mu.Lock()
	now, told := time.Now(), o.told()
	held := now.Sub(told.Since())
	if err != nil {
		err = &UnconfirmedError{Name: s.name, Owner: told.Owner(), Err: err, FreeAfter: max(0, o.Lease().Reach().Sub(now))}
	}
	overridden := s.state.Released(&o.Ownership, answer, now)
	s.mu.Unlock()
	var lost *LostError
	if overridden {
		lost = &LostError{Name: s.name, Owner: told.Owner(), Held: held, Reason: Overridden}
		err = lost
	}
	switch {
	case o.Refused(): // no event has told that it began
	case lost != nil:
		told.tellLost(lost)
	default:
		told.tellOver(held, err)
	}
	return err
}
