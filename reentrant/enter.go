package reentrant

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/internal/lockstate"
)

// acquire takes the lock for whom ctx, or the calling goroutine, stands.
func (l *Lock) acquire(ctx context.Context, r *request) (*ownership, error) {
	id, err := l.identify(ctx)
	if err != nil {
		return nil, err
	}
	l.actFor(r, id)
	l.complement(ctx, r)
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

// complement adds to a request what the Client and the lock fix for it.
func (l *Lock) complement(ctx context.Context, r *request) {
	r.Lease, r.Fixed = l.c.leaseOf(r.terms)
	r.ctx, r.Mode, r.Fencing, r.Began = ctx, l.mode, l.fencing, time.Now()
	r.readersFirst = l.readersFirst
	r.quick, r.Single = l.c.quickLimit(r), r.single()
	r.Once = r.quick > 0
}

// enter joins the queue with r, whose owner is looked at anew as often as the hold that ctx comes from has
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
		id, err := l.identify(ctx)
		if err != nil {
			return nil, err
		}
		l.actFor(r, id)
	}
}

// actFor sets for whom the call acts.
func (l *Lock) actFor(r *request, id identity) {
	r.actAs(id)
	r.Sibling = l.sibling(id.owner)
}

// enter re-enters the lock if the owner holds it, and queues otherwise, unless the owner
// has lost it and still believes to hold it. It returns neither an ownership nor an error if the
// caller has to call it again.
func (s *lockState) enter(ctx context.Context, r *request) (*ownership, error) {
	o, w, at, err := s.join(r)
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
		return nil, &NotAcquiredError{Name: s.name, Waited: time.Since(r.Began), Err: err}
	}
}

// join lets the state decide what becomes of a call: it enters an ownership again, it waits as w, it ends with err,
// or, with none of these, its owner has to be found anew.
func (s *lockState) join(r *request) (reenters *ownership, w *waiter, at arrival, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var of *lockstate.Ownership
	if r.of != nil {
		of = &r.of.Ownership
	}
	now := r.Began
	if s.state.HasLosses() {
		now = time.Now() // otherwise to read the clock costs a write-behind hand-off 3 %
	}
	switch entry := s.state.Enter(&r.Request, of, now); entry.Kind {
	case lockstate.Reenter:
		return ownershipOf(entry.Of), nil, at, nil
	case lockstate.Owed:
		return nil, nil, at, ownershipOf(entry.Loss.Last()).err
	case lockstate.Upgrade:
		return nil, nil, at, &UpgradeError{Name: s.name, Owner: entry.Of.Owner()}
	case lockstate.Refuse:
		return nil, nil, at, &NotAcquiredError{Name: s.name, Err: ErrClosed}
	case lockstate.Busy:
		busy := &NotAcquiredError{Name: s.name, Busy: true, client: s.c.id, Waited: time.Since(r.Began)}
		if entry.Of != nil {
			busy.Holder = entry.Of.Owner()
		}
		return nil, nil, at, busy
	case lockstate.Wait:
		w = s.c.newWaiter(r)
		s.ticket(w)
		s.state.Enqueue(&w.Waiter)
		at.leads = w.State() == lockstate.Leading
		ahead, busy := s.state.Ahead(r.Mode)
		if ahead != nil {
			at.ahead = ahead.Owner()
		}
		if busy && !at.leads {
			w.KnewBusy()
		}
	}
	return nil, w, at, nil
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
	if o != nil && w.HandedBy() != nil && !w.handOffTold {
		s.c.granted(w)
	}
	returned = true
	s.c.recycle(w)
	return o, err
}
