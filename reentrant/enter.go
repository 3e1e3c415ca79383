package reentrant

import (
	"context"
	"errors"
	"time"
)

// acquire takes the lock for whom ctx, or the calling goroutine, stands.
func (l *Lock) acquire(ctx context.Context, r *request) (*ownership, error) {
	var err error
	if r.identity, err = l.identify(ctx); err != nil {
		return nil, err
	}
	r.lease, r.fixed = l.c.leaseOf(r.terms)
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
	l.c.nameRecord.use()
	o, err := l.enter(ctx, r)
	if err != nil {
		l.complete(ctx, err)
		return nil, l.refused(r, err)
	}
	return o, nil
}

// enter joins the queue with r, whose identity is looked at anew as often as the hold that ctx comes from has
// ended meanwhile, and counts no more, or another call of the owner has got the lock.
func (l *Lock) enter(ctx context.Context, r *request) (*ownership, error) {
	s := l.c.useState(l)
	defer s.dropUser()
	for {
		if r.lost != nil {
			return nil, r.lost
		}
		o, err := s.enter(ctx, r)
		if o != nil || err != nil {
			return o, err
		}
		if r.identity, err = l.identify(ctx); err != nil {
			return nil, err
		}
	}
}

// enter re-enters the lock if the owner holds it, and queues otherwise, unless the owner
// has lost it and still believes to hold it. It returns neither an ownership nor an error if the
// caller has to call it again.
func (s *lockState) enter(ctx context.Context, r *request) (*ownership, error) {
	s.mu.Lock()
	o, w, err := s.join(r)
	at := arrival{leads: w != nil && w.state == leading, ahead: s.holder, busy: s.holder != nil || s.busy}
	s.mu.Unlock()
	switch {
	case w != nil:
		return s.wait(ctx, w, at)
	case o == nil:
		return nil, err
	}
	err = o.reenter(ctx, *r)
	_, lost := err.(*LostError) // and not wrapped: ctx may have ended for the loss of another lock
	switch {
	case errors.Is(err, errOwnershipEnded):
		return nil, nil
	case err == nil:
		return o, nil
	case lost:
		return nil, err
	default:
		return nil, &NotAcquiredError{Name: s.name, Waited: time.Since(r.began), Err: err}
	}
}

// join decides what becomes of a call: it re-enters an ownership, it waits as w, it ends with err, or, with none of
// these, its identity is out of date. The caller has lockState.mu.
func (s *lockState) join(r *request) (reenters *ownership, w *waiter, err error) {
	holder := s.holder
	if r.ownership != nil && (r.ownership != holder || r.ownership.state != live) {
		return nil, nil, nil
	}
	if holder != nil && holder.owner == r.owner && holder.state == live {
		return holder, nil, nil
	}
	if lost := s.lossOwed(r.owner); lost != nil {
		return nil, nil, lost
	}
	if s.c.isClosing() {
		return nil, nil, &NotAcquiredError{Name: s.name, Err: ErrClosed}
	}
	if r.single() && (holder != nil || s.waiters.first != nil) {
		busy := &NotAcquiredError{Name: s.name, Busy: true, client: s.c.id, Waited: time.Since(r.began)}
		if holder != nil {
			busy.Holder = holder.owner
		}
		return nil, nil, busy
	}
	return nil, s.enqueue(r), nil
}

// wait takes a waiter through the wait queue, and out of it if its call does not return: a hook of go-redis or an
// event function may panic, or end the goroutine.
func (s *lockState) wait(ctx context.Context, w *waiter, at arrival) (*ownership, error) {
	returned := false
	defer func() {
		if !returned {
			s.leaveAborted(ctx, w)
		}
	}()
	o, err := s.await(ctx, w, at)
	if o != nil && w.handedBy != nil && !w.handOffTold {
		s.c.granted(w)
	}
	returned = true
	s.c.recycle(w)
	return o, err
}
