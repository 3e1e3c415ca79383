package reentrant

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/lua"
	"github.com/redlatch/redlatch/watchdog"
)

// unlock takes one hold of the owner away: that of the handle, or the last one if
// handle is nil.
func (q *queue) unlock(ctx context.Context, owner string, handle *Hold) error {
	open := ctx.Err() == nil
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
	case handle != nil && h.state == releasing: // by Unlock: an earlier loss is not this hold's
		q.mu.Unlock()
		return &NotHeldError{Name: q.name, Owner: owner}
	case h == nil, h.owner != owner, h.state == releasing:
		defer q.mu.Unlock()
		return q.takeLost(owner)
	case h.state == ended:
		defer q.mu.Unlock()
		if h.err == ErrReleased {
			return &NotHeldError{Name: q.name, Owner: owner}
		}
		q.forgetLost(h)
		return h.err
	}
	now, until := time.Now(), h.lease.validUntil()
	if watchdog.Left(until, now) <= 0 {
		// Lost, and the watchdog has not come to it yet: the process was stopped.
		q.mu.Unlock()
		q.lose(h.lease, LeaseEnded)
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.takeLost(owner)
	}
	var kind *bool
	if handle != nil {
		handle.cancel(ErrReleased)
		h.detach(handle)
		kind = &handle.fixed
	}
	if h.count == 1 {
		if q.passOn(h, now, until) {
			q.mu.Unlock()
			return nil
		}
	}
	h.pop(kind, ErrReleased)
	last := h.state == releasing
	expires := h.lease.expiry()
	// Hold.Release has no share in the queue but its holding's. Another release may
	// end that before the command of this one begins, and the queue would go with it.
	q.keep()
	q.mu.Unlock()
	defer q.leave()

	if open && ctx.Err() != nil && errors.Is(context.Cause(ctx), ErrReleased) {
		// It was the hold's own ctx, which has just been ended above.
		var cancel context.CancelFunc
		until := time.Now().Add(releaseWithin)
		if deadline, ok := ctx.Deadline(); ok && deadline.Before(until) {
			until = deadline // of a ctx made from it, or of the one that it was made from
		}
		ctx, cancel = context.WithDeadline(context.WithoutCancel(ctx), until)
		defer cancel()
	}
	var err error
	interrupted := q.call(ctx, nil, nil, func(ctx context.Context) {
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
		}
		return ErrClosed
	}
	if lost := q.lossOf(h); !last && lost != nil {
		return lost
	}
	unconfirmed := &UnconfirmedError{Name: q.name, Owner: owner, Err: whyEnded(ctx)}
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
	if err := q.align(ctx, h); errors.Is(err, errMoot) {
		return q.lossOf(h)
	} else if err != nil {
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
