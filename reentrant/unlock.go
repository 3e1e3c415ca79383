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
	case h == nil, h.owner != owner, h.state == releasing:
		defer q.mu.Unlock()
		return q.takeLost(owner)
	case h.state == ended:
		defer q.mu.Unlock()
		if h.err == ErrReleased {
			return &NotHeldError{Name: q.name, Owner: owner}
		}
		if errors.Is(h.err, ErrLost) {
			q.takeLost(owner)
		}
		return h.err
	case watchdog.Passed(h.validUntil()):
		// Lost, and the watchdog has not come to it yet: the process was stopped.
		q.mu.Unlock()
		q.lose(h, LeaseEnded)
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
	h.pop(kind, ErrReleased)
	last := h.state == releasing
	expires := h.expiry()
	// Hold.Release has no share in the queue but its holding's. Another release may
	// end that before the command of this one begins, and the queue would go with it.
	q.c.keepQueue(q)
	q.mu.Unlock()
	defer q.c.leaveQueue(q)

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
	return &UnconfirmedError{Name: q.name, Owner: owner, Err: whyEnded(ctx), FreeAfter: max(0, time.Until(expires))}
}

func (q *queue) expiry(h *holding) time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	return h.expiry()
}

// tellCount brings the hold count in Redis in line after the release of an inner
// hold. The count told is the one of the moment it is sent.
func (q *queue) tellCount(ctx context.Context, h *holding) error {
	q.wire <- struct{}{}
	defer func() { <-q.wire }()
	g, _, err := q.send(func(o lua.Order) (lua.Granted, error) {
		q.mu.Lock()
		count, gone := h.count, h.state != live
		q.mu.Unlock()
		if gone {
			return lua.Granted{}, errMoot // whatever ended it has the last word
		}
		return lua.Count{Owner: h.owner, Count: count, Order: o}.Run(ctx, q.c.rdb, q.keys)
	})
	switch {
	case lua.ForeignKey(err), err == nil && g.Verdict == lua.NotHeld:
		q.lose(h, Overridden)
		q.mu.Lock()
		defer q.mu.Unlock()
		return h.err
	case err != nil:
		// The count in Redis is too high. The next command of this owner puts it
		// right, and its release frees the lock whatever the count.
		q.settleCount(h)
		return &UnconfirmedError{Name: q.name, Owner: h.owner, Err: err, FreeAfter: max(0, time.Until(q.expiry(h)))}
	}
	return nil
}
