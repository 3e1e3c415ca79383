package reentrant

import (
	"context"
	"errors"
	"time"
)

// acquire takes the lock for whom ctx, or the calling goroutine, stands.
func (l *Lock) acquire(ctx context.Context, r *request) (*holding, error) {
	var err error
	if r.identity, err = l.identify(ctx); err != nil {
		return nil, err
	}
	r.ctx, r.fencing, r.began, r.quick = ctx, l.fencing, time.Now(), l.c.quickLimit(r)
	if ctx.Err() != nil {
		return nil, l.refused(r, &NotAcquiredError{Name: l.name, Err: whyEnded(ctx)})
	}
	// Close waits for the call, and so for what it begins to clean up on leaving: a
	// client that is gone must not stay registered as a waiter.
	if !l.c.begin() {
		return nil, l.refused(r, &NotAcquiredError{Name: l.name, Err: ErrClosed})
	}
	defer l.c.end()
	l.c.card.use()
	h, err := l.enter(ctx, r)
	if err != nil {
		l.complete(ctx, err)
		return nil, l.refused(r, err)
	}
	return h, nil
}

// enter joins the queue with r, whose identity is looked at anew as often as the hold that ctx comes from has
// ended meanwhile, and counts no more, or another call of the owner has got the lock.
func (l *Lock) enter(ctx context.Context, r *request) (*holding, error) {
	q := l.c.joinQueue(l)
	defer q.leave()
	for {
		if r.lost != nil {
			return nil, r.lost
		}
		h, err := q.enter(ctx, r)
		if h != nil || err != nil {
			return h, err
		}
		if r.identity, err = l.identify(ctx); err != nil {
			return nil, err
		}
	}
}

// enter re-enters the lock if the owner holds it, and queues otherwise, unless the owner
// has lost it and still believes to hold it. It returns
// neither a holding nor an error if it has to be called again.
func (q *queue) enter(ctx context.Context, r *request) (*holding, error) {
	q.mu.Lock()
	if r.tenure != nil && (r.tenure != q.holder || r.tenure.state != live) {
		q.mu.Unlock()
		return nil, nil
	}
	if h := q.holder; h != nil && h.owner == r.owner && h.state == live {
		q.mu.Unlock()
		err := h.reenter(ctx, *r)
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
	if lost := q.owed(r.owner); lost != nil {
		q.mu.Unlock()
		return nil, lost
	}
	if q.c.isClosing() {
		q.mu.Unlock()
		return nil, &NotAcquiredError{Name: q.name, Err: ErrClosed}
	}
	if r.single() && (q.holder != nil || q.waiters.first != nil) {
		busy := &NotAcquiredError{Name: q.name, Busy: true, client: q.c.id, Waited: time.Since(r.began)}
		if q.holder != nil {
			busy.Holder = q.holder.owner
		}
		q.mu.Unlock()
		return nil, busy
	}
	w := q.enqueue(r)
	at := arrival{leads: w.state == leading, ahead: q.holder, busy: q.holder != nil || q.busy}
	q.mu.Unlock()
	returned := false
	defer func() {
		if !returned {
			q.desert(ctx, w)
		}
	}()
	h, err := q.await(ctx, w, at)
	if h != nil && w.from != nil && !w.told {
		q.c.granted(w)
	}
	returned = true
	q.c.recycle(w)
	return h, err
}
