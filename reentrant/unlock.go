package reentrant

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/lua"
	"github.com/redlatch/redlatch/watchdog"
)

// unlock takes one hold of the owner away: the handle's, or without a handle the last one that nobody has as a
// value. With after above 0 nobody is to have the lock for so long (linger.go).
func (s *lockState) unlock(ctx context.Context, id identity, handle *handle, after time.Duration) error {
	s.mu.Lock()
	u, err := s.beginUnlock(ctx, id, handle, after)
	if u.sends {
		// Hold.Release has no share in the lock state but its ownership's. Another release may
		// end that before the command of this one begins, and the state would go with it.
		s.addUser()
	}
	s.mu.Unlock()
	if u.lost != nil {
		u.o.tellLost(u.lost)
	}
	if !u.sends {
		return err
	}
	defer s.dropUser()
	return s.confirmUnlock(ctx, u, handle != nil && handle.member)
}

// unlocking is one unlock that was found in order.
type unlocking struct {
	o       *ownership
	sends   bool       // Redis is to be told
	last    bool       // o's last hold: the lock is to be freed, or handed over
	expires time.Time  // when the key is gone without a command
	lost    *LostError // the unlock found the loss, which is to be told
}

// beginUnlock takes the hold away from the state, or says why not. The caller has lockState.mu.
func (s *lockState) beginUnlock(ctx context.Context, id identity, handle *handle, after time.Duration) (u unlocking, err error) {
	u.o, err = s.ownershipToUnlock(id, handle)
	if err != nil {
		return u, err
	}
	o, now, until := u.o, time.Now(), u.o.lease.validUntil()
	if watchdog.Left(until, now) <= 0 {
		// Lost, and the watchdog has not come to it yet: the process was stopped.
		o.lease.by = ctx
		u.lost = o.endLost(LeaseEnded)
		if handle == nil {
			_ = s.takeLoss(id)
		} else {
			s.forgetLoss(o, handle.kind)
		}
		return u, u.lost
	}
	if after > 0 {
		if err := o.leaveToNobody(after); err != nil {
			handle.released = false
			return u, err
		}
	}
	kind, found := holdKind{}, false
	if handle != nil {
		kind = handle.kind
		handle.cancel(ErrReleased)
		o.detach(handle)
	} else if kind, found = toUnlock(o.holds); !found {
		return u, &NotHeldError{Name: s.name, Owner: id.owner, ByHold: true}
	}
	if o.count == 1 && s.handOffUnasked(o, now, until) {
		return u, nil
	}
	o.pop(kind, ErrReleased)
	u.sends, u.last = true, o.state == releasing
	if u.last {
		o.lease.by = ctx
	}
	u.expires = o.lease.expiry()
	return u, nil
}

// ownershipToUnlock finds what the hold is part of, and takes the handle for released. The error is what the unlock
// ends with: not held, or a loss. The caller has lockState.mu.
func (s *lockState) ownershipToUnlock(id identity, handle *handle) (*ownership, error) {
	o := s.holder
	if handle != nil {
		if handle.released {
			return nil, &NotHeldError{Name: s.name, Owner: id.owner}
		}
		handle.released = true
		o = handle.h
	}
	switch {
	case o == nil, o.owner != id.owner, o.state == releasing,
		handle == nil && (id.lost != nil || id.ownership != nil && id.ownership != o):
		return nil, s.takeLoss(id)
	case o.state != ended:
		return o, nil
	case o.err == ErrReleased:
		return nil, &NotHeldError{Name: s.name, Owner: id.owner}
	}
	s.forgetLoss(o, handle.kind)
	if handle.member {
		return nil, o.err // the MultiLock's own error tells of it
	}
	return nil, told(o.err)
}

// confirmUnlock tells Redis, and waits for the answer as releaseWait says. A member's release has the
// limit of its MultiLock.
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
	var err error
	interrupted := s.call(ctx, limit, nil, func(ctx context.Context) {
		if u.last {
			err = s.release(ctx, u.o)
		} else {
			err = s.sendCount(ctx, u.o)
		}
	})
	if interrupted == nil {
		return err
	}
	return s.unconfirmed(ctx, u, interrupted)
}

// unconfirmed is the error of an unlock whose caller does not wait for the answer any more.
func (s *lockState) unconfirmed(ctx context.Context, u unlocking, why error) error {
	if errors.Is(why, ErrClosed) {
		if u.last { // otherwise it is for Close, or for the call that releases the last hold
			s.mu.Lock()
			u.o.end(ErrClosed)
			s.mu.Unlock()
			u.o.tellClosed()
		}
		return ErrClosed
	}
	if lost := s.lossOf(u.o); !u.last && lost != nil {
		return lost
	}
	err := &UnconfirmedError{Name: s.name, Owner: u.o.owner, Err: why}
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

// sendCount brings the hold count in Redis in line after the release of an inner
// hold. It sends the count of the moment.
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
	v, _, err := t.setCount(ctx, s.c.commands, o.owner, maxRetries, o.countNow)
	returned = true
	switch {
	case notOurs(v, err):
		s.lose(o.lease, Overridden)
		return s.lossOf(o)
	case err != nil:
		return s.countUnconfirmed(o, err)
	case v == lua.Done:
		return nil
	}
	return s.lossOf(o) // it has ended, perhaps between two tries
}

// countNow is the hold count to be sent, while the ownership is live; the TTL is left alone. The caller has
// lockState.mu.
func (o *ownership) countNow() (count int, lease time.Duration, ok bool) {
	if o.state != live {
		return 0, 0, false
	}
	o.lease.field.counted(o, true)
	return o.count, 0, true
}

// lossOf is what the release of an inner hold says after its ownership has ended: anything
// but a loss is for whatever ended it to tell.
func (s *lockState) lossOf(o *ownership) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(o.err, ErrLost) {
		return o.err
	}
	return nil
}

// countUnconfirmed leaves a hold count in Redis too high, unless the lock is lost altogether. The next
// command of this owner puts it right, and its release frees the lock whatever the count.
func (s *lockState) countUnconfirmed(o *ownership, err error) error {
	if lost := s.lossOf(o); lost != nil {
		return lost
	}
	s.repairCount(o)
	return &UnconfirmedError{Name: s.name, Owner: o.owner, Err: err}
}
