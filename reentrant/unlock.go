package reentrant

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/lockstate"
	"github.com/redlatch/redlatch/lua"
)

// unlock ends one hold of the owner: the hold of handle or, without a handle, the last hold that is not a
// [Hold]. If after is above 0, no owner can take the lock for so long (linger.go).
func (s *lockState) unlock(ctx context.Context, id identity, handle *handle, after time.Duration) error {
	if after > 0 && handle.h.Reader() {
		return s.unlockReaderAfter(ctx, id, handle, after)
	}
	s.mu.Lock()
	u, err := s.beginUnlock(ctx, id, handle, after)
	if u.sends {
		// Hold.Release uses the lock state through its ownership only. Another release may end the
		// ownership before this command begins, and so the last use of the lock state.
		s.addUser()
	}
	s.mu.Unlock()
	if u.lost != nil {
		u.o.tellFound(u.lost)
		return u.lost
	}
	if u.left {
		u.o.left(ctx)
	}
	if !u.sends {
		return err
	}
	defer s.dropUser()
	return s.confirmUnlock(ctx, u, handle != nil && handle.member)
}

// unlocking is an unlock that may go on.
type unlocking struct {
	o       *ownership
	sends   bool       // a command has to tell Redis
	left    bool       // it was o's last hold, on a lease that others go on with
	last    bool       // it is o's last hold: the command frees the lock, or hands it over
	expires time.Time  // when Redis removes the key without a command
	lost    *LostError // the loss that this unlock has found and has to tell
}

// beginUnlock takes the hold out of the lock state, or returns why it cannot. The caller has
// lockState.mu.
func (s *lockState) beginUnlock(ctx context.Context, id identity, handle *handle, after time.Duration) (u unlocking, err error) {
	o, err := s.ownershipToUnlock(id, handle)
	if err != nil {
		return u, err
	}
	h := lockstate.Hold{After: after}
	if after > 0 {
		h.Nobody = s.c.nobody()
	}
	if handle != nil {
		h.Kind = handle.kind
	}
	now := time.Now()
	step := s.state.Release(&o.Ownership, &h, now)
	switch step {
	case lockstate.Loss:
		leaseOf(o.Lease()).by = ctx
		return unlocking{o: o, lost: o.lossErr()}, nil
	case lockstate.Nested:
		handle.released = false
		return u, fmt.Errorf("%w: %q has %d of %s", ErrNested, s.name, o.Count(), o.Owner())
	case lockstate.NoneToTake:
		return u, &NotHeldError{Name: s.name, Owner: id.owner, ByHold: true}
	}
	if handle != nil {
		handle.cancel(ErrReleased)
		o.detach(handle)
	}
	if step == lockstate.HandedOver {
		s.c.counters.acquired.Add(1)
		s.c.counters.handedOver.Add(1)
		return u, nil
	}
	if step == lockstate.Local {
		return unlocking{o: o, left: o.State() == lockstate.Ended}, nil
	}
	u = unlocking{o: o, sends: true, last: step == lockstate.Free, expires: o.Lease().Expiry(now)}
	if u.last {
		o.leaves(ctx)
	}
	return u, nil
}

// ownershipToUnlock finds the ownership of the hold, and marks the handle as released. The error is the
// result of the unlock: not held, or a loss. The caller has lockState.mu.
func (s *lockState) ownershipToUnlock(id identity, handle *handle) (*ownership, error) {
	var o *ownership
	if handle != nil {
		if handle.released {
			return nil, &NotHeldError{Name: s.name, Owner: id.owner}
		}
		handle.released = true
		o = handle.h
	} else if held := s.state.Owner(id.owner); held != nil {
		o = ownershipOf(held)
	}
	switch {
	case o == nil, o.State() == lockstate.Releasing,
		handle == nil && (id.lost != nil || id.ownership != nil && id.ownership != o):
		return nil, s.takeLoss(id)
	case o.live():
		return o, nil
	case o.err == ErrReleased:
		return nil, &NotHeldError{Name: s.name, Owner: id.owner}
	}
	s.state.Forgo(&o.Ownership, handle.kind)
	if handle.member {
		return nil, o.err // the MultiLock has an error of its own for the loss
	}
	return nil, told(o.err)
}

// confirmUnlock sends the command, and waits for the answer as releaseWait says. The MultiLock limits the
// release of its members.
func (s *lockState) confirmUnlock(ctx context.Context, u unlocking, member bool) error {
	var limit <-chan time.Time
	if !member {
		waiting, timer := s.c.releaseWait(ctx)
		if timer != nil {
			defer s.c.giveTimer(timer)
			limit = timer.C
		}
		ctx = waiting
	}
	err, interrupted := s.sendUnlock(ctx, limit, u)
	if interrupted == nil {
		return err
	}
	return s.unconfirmed(ctx, u, interrupted)
}

// sendUnlock sends the command, and waits for the answer as [Client.call] does.
func (s *lockState) sendUnlock(ctx context.Context, limit <-chan time.Time, u unlocking) (err, interrupted error) {
	if u.last {
		if t, ok := s.startNow(ctx, limit); ok {
			return s.launchRelease(ctx, limit, t, u.o.sent())
		}
	}
	if !s.beginCall() {
		return nil, ErrClosed
	}
	return s.unlockAlone(ctx, limit, func(ctx context.Context) error {
		if u.last {
			return s.release(ctx, u.o.sent())
		}
		return s.sendCount(ctx, u.o)
	})
}

// unconfirmed is the error of an unlock whose caller does not wait for the answer any more.
func (s *lockState) unconfirmed(ctx context.Context, u unlocking, why error) error {
	if errors.Is(why, ErrClosed) {
		if u.last { // otherwise Close, or the release of the last hold, ends it
			s.mu.Lock()
			s.state.EndClosed(&u.o.sent().Ownership, time.Now())
			s.mu.Unlock()
			u.o.tellClosed()
		}
		return ErrClosed
	}
	if lost := s.lossOf(u.o); !u.last && lost != nil {
		return lost
	}
	err := &UnconfirmedError{Name: s.name, Owner: u.o.Owner(), Err: why}
	if errors.Is(why, errInterrupted) {
		err.Err = context.DeadlineExceeded
		if ctx.Err() != nil {
			err.Err = whyEnded(ctx)
		}
	}
	if u.last {
		err.FreeAfter = max(0, time.Until(u.expires))
	}
	return err
}

// sendCount tells Redis the hold count after the release of an inner hold. It sends the count as it is at
// the moment of sending.
func (s *lockState) sendCount(ctx context.Context, o *ownership) error {
	t := s.takeTurn()
	defer t.done()
	returned := false
	defer func() {
		if !returned {
			_ = s.countUnconfirmed(o, errAborted)
		}
	}()
	if err := s.syncFieldNow(ctx, t, o); err != nil {
		returned = true
		if errors.Is(err, errSuperseded) {
			return s.lossOf(o)
		}
		return s.countUnconfirmed(o, err)
	}
	v, _, err := t.setCount(ctx, s.c.commands, o.Owner(), lockstate.MaxRetries, o.countNow)
	returned = true
	switch {
	case notOurs(v, err):
		s.lose(o.Lease(), lockstate.Overridden)
		return s.lossOf(o)
	case err != nil:
		return s.countUnconfirmed(o, err)
	case v == lua.Done:
		return nil
	}
	return s.lossOf(o) // the ownership has ended, perhaps between two tries
}

// countNow returns the hold count to send, while the ownership is live. A lease of 0 leaves the TTL
// alone. The caller has lockState.mu.
func (o *ownership) countNow() (count int, lease time.Duration, ok bool) {
	count, ok = o.s.state.SendCount(&o.Ownership)
	return count, 0, ok
}

// lossOf returns the loss that has ended o, and nil if o has ended in another way or goes on. The
// goroutine that ended o in another way tells that.
func (s *lockState) lossOf(o *ownership) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(o.err, ErrLost) {
		return o.err
	}
	return nil
}

// countUnconfirmed returns the loss if the lock is lost. Otherwise the hold count in Redis may stay too
// high: a background command repairs it, and the owner's next command would do so too. The release of the
// last hold frees the lock whatever the count.
func (s *lockState) countUnconfirmed(o *ownership, err error) error {
	if lost := s.lossOf(o); lost != nil {
		return lost
	}
	s.repairCount(o)
	return &UnconfirmedError{Name: s.name, Owner: o.Owner(), Err: err}
}
