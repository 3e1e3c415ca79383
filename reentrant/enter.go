package reentrant

import (
	"context"
	"errors"
	"time"
)

// acquire takes the lock for the owner of ctx.
func (l *Lock) acquire(ctx context.Context, r request) (*holding, error) {
	owner, err := l.owner(ctx)
	if err != nil {
		return nil, err
	}
	r.owner, r.shared = owner, hasOwner(ctx)
	r.fencing, r.began = l.fencing, time.Now()
	if ctx.Err() != nil {
		return nil, &NotAcquiredError{Name: l.name, Err: whyEnded(ctx)}
	}
	// Close waits for the call, and so for what it begins to clean up on leaving: a
	// client that is gone must not stay registered as a waiter.
	if !l.c.begin() {
		return nil, &NotAcquiredError{Name: l.name, Err: ErrClosed}
	}
	defer l.c.end()
	q := l.c.joinQueue(l)
	defer q.leave()
	for {
		h, err := q.enter(ctx, r)
		if h != nil || err != nil {
			return h, err
		}
	}
}

// enter re-enters the lock if the owner holds it, and queues otherwise. It returns
// neither a holding nor an error if it has to be called again.
func (q *queue) enter(ctx context.Context, r request) (*holding, error) {
	q.mu.Lock()
	if h := q.holder; h != nil && h.owner == r.owner && h.state == live {
		q.mu.Unlock()
		err := h.reenter(ctx, r)
		_, lost := err.(*LostError) // and not wrapped: ctx may have ended for the loss of another lock
		switch {
		case errors.Is(err, errGone):
			return nil, nil
		case err == nil:
			return h, nil
		case lost:
			return nil, err
		default:
			return nil, &NotAcquiredError{Name: q.name, Waited: time.Since(r.began), Err: err}
		}
	}
	if q.c.isClosing() {
		q.mu.Unlock()
		return nil, &NotAcquiredError{Name: q.name, Err: ErrClosed}
	}
	if r.single() && (q.holder != nil || q.waiters.first != nil) {
		busy := &NotAcquiredError{Name: q.name, Waited: time.Since(r.began)}
		if q.holder != nil {
			busy.Holder = q.holder.owner
		}
		q.mu.Unlock()
		return nil, busy
	}
	w := q.enqueue(r)
	q.mu.Unlock()
	h, err := q.await(ctx, w)
	if h != nil && w.from != nil {
		q.c.granted(w)
	}
	q.c.recycle(w)
	return h, err
}
