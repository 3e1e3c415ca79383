package reentrant

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/lua"
)

// How often clean-up tries while Redis does not answer.
const (
	cleanUpPause = 50 * time.Millisecond
	cleanUpLast  = time.Second

	// cleaners is how many clean-up commands of a Client are in flight at once (chores.go).
	cleaners = 16
)

// cleanUp frees, in the background, what Redis may hold for an owner that holds
// nothing any more, until Redis has confirmed or the key has expired. If the owner
// has got the lock anew meanwhile, there is nothing to clean: its commands carry an
// epoch. The caller has queue.mu.
func (q *queue) cleanUp(owner string, expires time.Time) { q.cleanUpTo(owner, nil, expires) }

// cleanUpTo is cleanUp of an owner that leaves the lock by a parting, if that is not nil.
func (q *queue) cleanUpTo(owner string, to *parting, expires time.Time) {
	q.background(expires, func(ctx context.Context) (done bool) {
		q.mu.Lock()
		h := q.holder
		again := h != nil && (h.owner == owner || h.lease.standsFor(owner))
		q.mu.Unlock()
		if again {
			return true
		}
		epochSet := true
		_, _, err := q.send(func(o lua.Order) (lua.Granted, error) {
			verdict, set, err := q.freeing(ctx, q.c.single, owner, to, o)
			epochSet = set || o.Epoch == 0
			return lua.Granted{Verdict: verdict}, err
		})
		if err == nil && !epochSet {
			q.doubt = true
		}
		if err == nil {
			q.mu.Lock()
			if q.ears != nil {
				q.ears.signal(byMessage) // our own head may be waiting for this very lock
			}
			q.mu.Unlock()
		}
		return err == nil || lua.ForeignKey(err)
	})
}

// settleCount brings the hold count in Redis in line, in the background, after a
// command for it was not answered. The caller has queue.mu.
func (q *queue) settleCount(h *holding) {
	q.background(time.Now().Add(q.c.cfg.lease), func(ctx context.Context) (done bool) {
		if err := q.align(ctx, h); err != nil {
			return errors.Is(err, errMoot)
		}
		_, _, err := q.send(func(o lua.Order) (lua.Granted, error) {
			q.mu.Lock()
			count, state := h.count, h.state
			if state == live {
				h.lease.tenant, h.lease.nested = h, true
			}
			q.mu.Unlock()
			if state != live {
				return lua.Granted{}, errMoot
			}
			return lua.Count{Owner: h.owner, Count: count, Order: o}.Run(ctx, q.c.single, &q.keys)
		})
		return err == nil || lua.ForeignKey(err)
	})
}

// tidy takes this Client out of the registry of waiters once nobody waits here. A
// wake-up that was on its way to us goes on to the next. The caller has queue.mu.
func (q *queue) tidy() {
	if q.since == 0 || q.waiters.first != nil || q.holder != nil {
		return
	}
	q.background(time.Now().Add(registryTTL), func(ctx context.Context) (done bool) {
		q.mu.Lock()
		needed := q.since != 0 && q.waiters.first == nil
		q.mu.Unlock()
		if !needed {
			return true
		}
		if err := lua.Leave(ctx, q.c.single, &q.keys, q.c.id, q.c.wakeUp()); err != nil {
			return !lua.Retryable(err)
		}
		q.mu.Lock()
		q.since = 0
		q.mu.Unlock()
		return true
	})
}

// background repeats a command, with the wire, until it is done or its time is
// over. The caller has queue.mu.
func (q *queue) background(until time.Time, command func(context.Context) (done bool)) {
	q.c.chores.add(&chore{q: q, at: time.Now(), until: until, try: func(ctx context.Context) (done bool) {
		if !take(ctx, q.wire) {
			return true
		}
		defer func() { <-q.wire }()
		return ctx.Err() != nil || command(ctx) // take goes either way when both are ready
	}})
}

// take fills a place in a channel that counts, and reports false if ctx ends first.
func take(ctx context.Context, places chan<- struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// resume listens again at once if the subscription of an earlier wait still
// lingers: then the first attempt can already register. The caller has queue.mu.
func (q *queue) resume() {
	if q.ears == nil && q.c.hub.Confirmed(q.keys.Own()) {
		q.listen()
	}
}
