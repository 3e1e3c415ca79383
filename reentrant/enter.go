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
	if l.c.numbers {
		r.number = l.c.calls.Add(1)
	}
	r.SharedField = l.sharedField(r)
	r.Guarded = l.kind.twoModes && l.mode == lockstate.Shared
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
	e := s.join(r)
	o := e.enters
	switch {
	case e.waits != nil:
		return s.wait(ctx, e.waits, e.at)
	case e.has != nil && e.count > 1:
		e.has.nested(r, e.count)
		return e.has, nil
	case e.has != nil:
		e.has.admitted(&r.caller, r.Began)
		return e.has, nil
	case o == nil:
		return nil, e.err
	}
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
		return nil, &NotAcquiredError{Name: s.name, Waited: time.Since(r.Began), Err: err}
	}
}

// entered is what became of a call: it enters an ownership again, it waits, it has the lock, it ends with err, or, with
// none of these, its owner has to be found anew.
type entered struct {
	enters *ownership
	waits  *waiter
	at     arrival
	has    *ownership // on a shared lease
	count  int        // its holds
	err    error
}

// join lets the state decide what becomes of a call.
func (s *lockState) join(r *request) (e entered) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var of *lockstate.Ownership
	if r.of != nil {
		of = &r.of.Ownership
	}
	now := r.Began
	if s.state.HasLosses() || r.Mode == lockstate.Shared {
		// A fixed read may have waited behind another call of its owner, and begins only now. For other calls, to read the
		// clock costs a write-behind hand-off 3 %.
		now = time.Now()
	}
	switch entry := s.state.Enter(&r.Request, of, now); entry.Kind {
	case lockstate.Reenter:
		e.enters = ownershipOf(entry.Of)
	case lockstate.Admitted, lockstate.Nests:
		e.has, e.count = ownershipOf(entry.Of), entry.Of.Count()
	case lockstate.Perished:
		e.err = ownershipOf(entry.Of).err
	case lockstate.Owed:
		e.err = ownershipOf(entry.Loss.Last()).err
	case lockstate.Upgrade:
		e.err = &UpgradeError{Name: s.name, Owner: entry.Of.Owner()}
	case lockstate.Refuse:
		e.err = &NotAcquiredError{Name: s.name, Err: ErrClosed}
	case lockstate.Busy:
		busy := &NotAcquiredError{Name: s.name, Busy: true, client: s.c.id, Waited: time.Since(r.Began)}
		if entry.Of != nil {
			busy.Holder = entry.Of.Owner()
		}
		e.err = busy
	case lockstate.Wait:
		e.waits, e.at = s.enqueue(r)
	}
	return e
}

// enqueue has a call wait. The caller has lockState.mu.
func (s *lockState) enqueue(r *request) (w *waiter, at arrival) {
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
	return w, at
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
	if o != nil && w.Admitted() {
		o.admitted(&w.caller, w.Began)
	}
	returned = true
	s.c.recycle(w)
	return o, err
}
