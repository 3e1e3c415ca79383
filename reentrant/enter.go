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
// has lost it and still believes to hold it. It returns
// neither an ownership nor an error if it has to be called again.
func (s *lockState) enter(ctx context.Context, r *request) (*ownership, error) {
	s.mu.Lock()
	if r.ownership != nil && (r.ownership != s.holder || r.ownership.state != live) {
		s.mu.Unlock()
		return nil, nil
	}
	if o := s.holder; o != nil && o.owner == r.owner && o.state == live {
		s.mu.Unlock()
		err := o.reenter(ctx, *r)
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
	if lost := s.lossOwed(r.owner); lost != nil {
		s.mu.Unlock()
		return nil, lost
	}
	if s.c.isClosing() {
		s.mu.Unlock()
		return nil, &NotAcquiredError{Name: s.name, Err: ErrClosed}
	}
	if r.single() && (s.holder != nil || s.waiters.first != nil) {
		busy := &NotAcquiredError{Name: s.name, Busy: true, client: s.c.id, Waited: time.Since(r.began)}
		if s.holder != nil {
			busy.Holder = s.holder.owner
		}
		s.mu.Unlock()
		return nil, busy
	}
	w := s.enqueue(r)
	at := arrival{leads: w.state == leading, ahead: s.holder, busy: s.holder != nil || s.busy}
	s.mu.Unlock()
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
