package reentrant

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/lua"
	"github.com/redlatch/redlatch/watchdog"
)

// unlock takes one hold of the owner away: that of the handle, or if that is nil the last
// one that nobody has as a value. With after above 0 nobody is to have the lock for so long (linger.go).
func (s *lockState) unlock(ctx context.Context, id identity, handle *handle, after time.Duration) error {
	owner := id.owner
	s.mu.Lock()
	o := s.holder
	if handle != nil {
		if handle.released {
			s.mu.Unlock()
			return &NotHeldError{Name: s.name, Owner: owner}
		}
		handle.released = true
		o = handle.h
	}
	switch {
	case o == nil, o.owner != owner, o.state == releasing,
		handle == nil && (id.lost != nil || id.ownership != nil && id.ownership != o):
		defer s.mu.Unlock()
		return s.takeLoss(id)
	case o.state == ended:
		defer s.mu.Unlock()
		if o.err == ErrReleased {
			return &NotHeldError{Name: s.name, Owner: owner}
		}
		s.forgetLoss(o, handle.kind)
		if handle.member {
			return o.err // the MultiLock's own error tells of it
		}
		return told(o.err)
	}
	now, until := time.Now(), o.lease.validUntil()
	if watchdog.Left(until, now) <= 0 {
		// Lost, and the watchdog has not come to it yet: the process was stopped.
		o.lease.by = ctx
		lost := o.endLost(LeaseEnded)
		if handle == nil {
			_ = s.takeLoss(id)
		} else {
			s.forgetLoss(o, handle.kind)
		}
		s.mu.Unlock()
		o.tellLost(lost)
		return lost
	}
	if after > 0 {
		if err := o.leaveToNobody(after); err != nil {
			handle.released = false
			s.mu.Unlock()
			return err
		}
	}
	kind, found := holdKind{}, false
	if handle != nil {
		kind = handle.kind
		handle.cancel(ErrReleased)
		o.detach(handle)
	} else if kind, found = toUnlock(o.holds); !found {
		s.mu.Unlock()
		return &NotHeldError{Name: s.name, Owner: owner, ByHold: true}
	}
	if o.count == 1 {
		if s.handOffUnasked(o, now, until) {
			s.mu.Unlock()
			return nil
		}
	}
	o.pop(kind, ErrReleased)
	last := o.state == releasing
	if last {
		o.lease.by = ctx
	}
	expires := o.lease.expiry()
	// Hold.Release has no share in the queue but its ownership's. Another release may
	// end that before the command of this one begins, and the queue would go with it.
	s.addUser()
	s.mu.Unlock()
	defer s.dropUser()

	var limit <-chan time.Time
	if handle == nil || !handle.member {
		waiting, timer := s.c.releaseWait(ctx)
		if timer != nil {
			defer s.c.giveTimer(timer)
			limit = timer.C
		}
		ctx = waiting
	}
	var err error
	interrupted := s.call(ctx, limit, nil, func(ctx context.Context) {
		if last {
			err = s.release(ctx, o)
		} else {
			err = s.sendCount(ctx, o)
		}
	})
	switch {
	case interrupted == nil:
		return err
	case errors.Is(interrupted, ErrClosed):
		if last { // otherwise it is for Close, or for the call that releases the last hold
			s.mu.Lock()
			o.end(ErrClosed)
			s.mu.Unlock()
			o.tellClosed()
		}
		return ErrClosed
	}
	if lost := s.lossOf(o); !last && lost != nil {
		return lost
	}
	unconfirmed := &UnconfirmedError{Name: s.name, Owner: owner, Err: interrupted}
	if errors.Is(interrupted, errInterrupted) {
		unconfirmed.Err = context.DeadlineExceeded
		if ctx.Err() != nil {
			unconfirmed.Err = whyEnded(ctx)
		}
	}
	if last {
		unconfirmed.FreeAfter = max(0, time.Until(expires))
	}
	return unconfirmed
}

// sendCount brings the hold count in Redis in line after the release of an inner
// hold. The count told is the one of the moment it is sent.
func (s *lockState) sendCount(ctx context.Context, o *ownership) error {
	s.wire <- struct{}{}
	defer func() { <-s.wire }()
	returned := false
	defer func() {
		if !returned {
			_ = s.countUnconfirmed(o, errAborted)
		}
	}()
	if err := s.syncFieldNow(ctx, o); err != nil {
		returned = true
		if errors.Is(err, errSuperseded) {
			return s.lossOf(o)
		}
		return s.countUnconfirmed(o, err)
	}
	g, _, err := s.sendRepeated(func(order lua.Order) (lua.Granted, error) {
		s.mu.Lock()
		count, gone := o.count, o.state != live
		if !gone {
			o.lease.countOf, o.lease.nested = o, true
		}
		s.mu.Unlock()
		if gone {
			return lua.Granted{}, errSuperseded
		}
		return lua.Count{Owner: o.owner, Count: count, Order: order}.Run(ctx, s.c.commands, &s.keys)
	})
	returned = true
	switch {
	case lua.ForeignKey(err), err == nil && g.Verdict == lua.NotHeld:
		s.lose(o.lease, Overridden)
		return s.lossOf(o)
	case err != nil:
		return s.countUnconfirmed(o, err)
	case g.Verdict == lua.Done:
		return nil
	}
	return s.lossOf(o) // it has ended, perhaps between two tries
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
