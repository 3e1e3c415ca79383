package reentrant

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/lua"
)

// settleRelease is letGo for a caller that does not have the wire.
func (q *queue) settleRelease(ctx context.Context, h *holding) error {
	q.wire <- struct{}{}
	return q.letGo(ctx, h)
}

// letGo brings a holding whose state is releasing to its end: the lock goes to the
// next waiter of this Client, or is freed. A waiter that leaves while the lock is on
// its way to it, or is refused, passes it on in the same manner, in the background: whoever
// releases a lock does not wait for what becomes of the others. The caller has the wire,
// and gives it up. The error is that of h's own release.
func (q *queue) letGo(ctx context.Context, h *holding) error {
	handed := false // the wire, to goOn
	defer func() {
		if !handed {
			<-q.wire
		}
	}()
	next, err := q.passOrFree(ctx, h)
	if next == nil {
		return err
	}
	handed = true
	goOn := func() {
		defer func() { <-q.wire }()
		for next != nil {
			next, _ = q.passOrFree(ctx, next) // its error is cleaned up after
		}
	}
	if !q.goBackground(goOn) {
		goOn()
	}
	return err
}

// passOrFree ends one holding. It returns the next that is to be let go, if the waiter that
// got the lock does not want it any more.
func (q *queue) passOrFree(ctx context.Context, h *holding) (next *holding, err error) {
	if w := q.successor(h); w != nil {
		return q.transfer(ctx, h, w)
	}
	return nil, q.free(ctx, h)
}

// successor is the waiter to whom the lock goes without being freed in between.
func (q *queue) successor(h *holding) *waiter {
	q.mu.Lock()
	defer q.mu.Unlock()
	w := q.waiters.first
	switch {
	case w == nil, h.lease.parting != nil, q.c.cfg.handoff == Remote, q.c.isClosing():
		return nil
	case w.owner == h.lease.field: // from and to would be one field
		return nil
	case h.lease.heir != "": // from which of the two?
		return nil
	case q.turns.over(time.Now()):
		return nil
	}
	return w
}

// transfer hands the lock over. It returns a holding that is to be let go in turn,
// if the waiter left meanwhile.
func (q *queue) transfer(ctx context.Context, h *holding, w *waiter) (next *holding, err error) {
	line := q.c.line(q.keys.Lock)
	// Of the first try that may have run: a second one finds the waiter as the
	// holder and leaves the lease as it is.
	var sent time.Time
	returned := false
	defer func() {
		if !returned {
			_ = q.unanswered(h, w, sent, errAborted)
		}
	}()
	g, doubted, err := q.send(func(o lua.Order) (lua.Granted, error) {
		if sent.IsZero() {
			sent = time.Now()
		}
		g, err := lua.Transfer{From: h.lease.field, To: w.owner, Lease: w.lease, Order: o, Fencing: w.fencing, Wake: q.c.wakeUp()}.
			Run(ctx, line, &q.keys)
		if err != nil && !lua.Unknown(err) && !q.doubt {
			sent = time.Time{} // has not run, nor any before it
		}
		return g, err
	})
	returned = true
	switch {
	case lua.ForeignKey(err):
		return nil, q.released(h, false, lua.NotHeld, nil)
	case err != nil && !doubted:
		// Refused, by a full Redis for one: what needs no memory may still do.
		return nil, q.free(ctx, h)
	case err != nil:
		return nil, q.unanswered(h, w, sent, err)
	case g.Verdict == lua.NotHeld:
		// A try without an answer that had run would have left the waiter's field there
		// for a lease: then this says that the lock was lost before.
		return nil, q.released(h, doubted && time.Since(sent) >= w.lease, g.Verdict, nil)
	}

	q.mu.Lock()
	q.turns.taken++
	q.turns.told(g, time.Now())
	h.end(ErrReleased)
	to := q.hold(&w.request, g, sent)
	refusal := q.refusal(to, w, line)
	if refusal == nil {
		w.from = h
		q.grant(w, to)
		q.mu.Unlock()
		if !h.refused {
			q.c.counters.handedOver.Add(1)
		}
		return nil, nil
	}
	to.refused = true
	to.beginRelease(refusal)
	if line.missing() > 0 && w.state != left {
		w.refusal = refusal
		q.remove(w, refused)
	}
	q.mu.Unlock()
	told := false
	defer func() {
		if !told { // and to is known to nobody else
			_ = q.released(to, true, lua.Done, errAborted)
		}
	}()
	h.tellOver(to.since.Sub(h.since), nil)
	told = true
	return to, nil
}

// unanswered ends a holding that was to be handed over, after a command without an answer. Either owner may have it in
// Redis. The waiter leads now, and takes what is its own; for the other there is clean-up.
func (q *queue) unanswered(h *holding, w *waiter, sent time.Time, err error) error {
	q.mu.Lock()
	w.doubt = true
	if w.state == left {
		q.cleanUp(w.owner, sent.Add(w.lease))
	}
	q.mu.Unlock()
	return q.released(h, true, lua.Done, err)
}

// free frees the lock in Redis, which wakes the next client.
func (q *queue) free(ctx context.Context, h *holding) error {
	q.afterRedisson.Store(false)
	returned := false
	defer func() {
		if !returned {
			_ = q.released(h, true, lua.Done, errAborted)
		}
	}()
	verdict, doubted, err := q.freeField(ctx, h.lease.field, h.lease.parting)
	if err == nil && verdict == lua.NotHeld && h.lease.heir != "" {
		// The field had been moved by a command that was not answered. If it runs only
		// now it is stale: the first release has set the epoch.
		var again bool
		verdict, again, err = q.freeField(ctx, h.lease.heir, h.lease.parting)
		doubted = doubted || again
	}
	returned = true
	return q.released(h, doubted, verdict, err)
}

// freeField frees the lock if that owner's field stands in Redis.
func (q *queue) freeField(ctx context.Context, owner string, to *parting) (v lua.Verdict, doubted bool, err error) {
	epochSet := true
	g, doubted, err := q.send(func(o lua.Order) (lua.Granted, error) {
		verdict, set, err := q.freeing(ctx, q.c.commands, owner, to, o)
		epochSet = set || o.Epoch == 0
		return lua.Granted{Verdict: verdict}, err
	})
	if err == nil && !epochSet {
		q.doubt = true // a full Redis did not take the epoch
	}
	if lua.ForeignKey(err) {
		return lua.NotHeld, doubted, nil // somebody wrote over the lock
	}
	return g.Verdict, doubted, err
}

// released ends a holding with what Redis said of its release.
func (q *queue) released(h *holding, doubted bool, v lua.Verdict, err error) error {
	q.mu.Lock()
	q.turns.restart(time.Now())
	held := time.Since(h.since)
	var lost *LostError
	switch {
	case err != nil:
		err = &UnconfirmedError{
			Name: q.name, Owner: h.owner, Err: err,
			FreeAfter: max(0, time.Until(h.lease.reach)),
		}
		h.cleanUp()
	case v == lua.NotHeld && !doubted:
		lost = &LostError{Name: q.name, Owner: h.owner, Held: held, Reason: Overridden}
		err = lost
	}
	// NotHeld after a command without an answer: that one has freed it.
	h.end(ErrReleased)
	q.promote()
	q.mu.Unlock()
	switch {
	case h.refused: // nobody has heard of it
	case lost != nil:
		h.tellLost(lost)
	default:
		h.tellOver(held, err)
	}
	return err
}
