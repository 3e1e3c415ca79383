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
func (q *queue) unlock(ctx context.Context, id identity, handle *handle, after time.Duration) error {
	owner := id.owner
	q.mu.Lock()
	h := q.holder
	if handle != nil {
		if handle.released {
			q.mu.Unlock()
			return &NotHeldError{Name: q.name, Owner: owner}
		}
		handle.released = true
		h = handle.h
	}
	switch {
	case h == nil, h.owner != owner, h.state == releasing,
		handle == nil && (id.lost != nil || id.tenure != nil && id.tenure != h):
		defer q.mu.Unlock()
		return q.takeLost(id)
	case h.state == ended:
		defer q.mu.Unlock()
		if h.err == ErrReleased {
			return &NotHeldError{Name: q.name, Owner: owner}
		}
		q.forgetLost(h, handle.kind)
		if handle.member {
			return h.err // the MultiLock's own error tells of it
		}
		return told(h.err)
	}
	now, until := time.Now(), h.lease.validUntil()
	if watchdog.Left(until, now) <= 0 {
		// Lost, and the watchdog has not come to it yet: the process was stopped.
		h.lease.by = ctx
		lost := h.endLost(LeaseEnded)
		if handle == nil {
			_ = q.takeLost(id)
		} else {
			q.forgetLost(h, handle.kind)
		}
		q.mu.Unlock()
		h.tellLost(lost)
		return lost
	}
	if after > 0 {
		if err := h.leaveToNobody(after); err != nil {
			handle.released = false
			q.mu.Unlock()
			return err
		}
	}
	kind, found := holdKind{}, false
	if handle != nil {
		kind = handle.kind
		handle.cancel(ErrReleased)
		h.detach(handle)
	} else if kind, found = toUnlock(h.holds); !found {
		q.mu.Unlock()
		return &NotHeldError{Name: q.name, Owner: owner, ByHold: true}
	}
	if h.count == 1 {
		if q.passOn(h, now, until) {
			q.mu.Unlock()
			return nil
		}
	}
	h.pop(kind, ErrReleased)
	last := h.state == releasing
	if last {
		h.lease.by = ctx
	}
	expires := h.lease.expiry()
	// Hold.Release has no share in the queue but its holding's. Another release may
	// end that before the command of this one begins, and the queue would go with it.
	q.keep()
	q.mu.Unlock()
	defer q.leave()

	var limit <-chan time.Time
	if handle == nil || !handle.member {
		waiting, timer := q.c.releaseWait(ctx)
		if timer != nil {
			defer q.c.giveTimer(timer)
			limit = timer.C
		}
		ctx = waiting
	}
	var err error
	interrupted := q.call(ctx, limit, nil, func(ctx context.Context) {
		if last {
			err = q.settleRelease(ctx, h)
		} else {
			err = q.tellCount(ctx, h)
		}
	})
	switch {
	case interrupted == nil:
		return err
	case errors.Is(interrupted, ErrClosed):
		if last { // otherwise it is for Close, or for the call that releases the last hold
			q.mu.Lock()
			h.end(ErrClosed)
			q.mu.Unlock()
			h.tellClosed()
		}
		return ErrClosed
	}
	if lost := q.lossOf(h); !last && lost != nil {
		return lost
	}
	unconfirmed := &UnconfirmedError{Name: q.name, Owner: owner, Err: interrupted}
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

// tellCount brings the hold count in Redis in line after the release of an inner
// hold. The count told is the one of the moment it is sent.
func (q *queue) tellCount(ctx context.Context, h *holding) error {
	q.wire <- struct{}{}
	defer func() { <-q.wire }()
	returned := false
	defer func() {
		if !returned {
			_ = q.countUntold(h, errAborted)
		}
	}()
	if err := q.align(ctx, h); err != nil {
		returned = true
		if errors.Is(err, errMoot) {
			return q.lossOf(h)
		}
		return q.countUntold(h, err)
	}
	g, _, err := q.send(func(o lua.Order) (lua.Granted, error) {
		q.mu.Lock()
		count, gone := h.count, h.state != live
		if !gone {
			h.lease.tenant, h.lease.nested = h, true
		}
		q.mu.Unlock()
		if gone {
			return lua.Granted{}, errMoot
		}
		return lua.Count{Owner: h.owner, Count: count, Order: o}.Run(ctx, q.c.commands, &q.keys)
	})
	returned = true
	switch {
	case lua.ForeignKey(err), err == nil && g.Verdict == lua.NotHeld:
		q.lose(h.lease, Overridden)
		return q.lossOf(h)
	case err != nil:
		return q.countUntold(h, err)
	case g.Verdict == lua.Done:
		return nil
	}
	return q.lossOf(h) // it has ended, perhaps between two tries
}

// lossOf is what the release of an inner hold says after its holding has ended: anything
// but a loss is for whatever ended it to tell.
func (q *queue) lossOf(h *holding) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if errors.Is(h.err, ErrLost) {
		return h.err
	}
	return nil
}

// countUntold leaves a hold count in Redis too high, unless the lock is lost altogether. The next
// command of this owner puts it right, and its release frees the lock whatever the count.
func (q *queue) countUntold(h *holding, err error) error {
	if lost := q.lossOf(h); lost != nil {
		return lost
	}
	q.settleCount(h)
	return &UnconfirmedError{Name: q.name, Owner: h.owner, Err: err}
}
