package reentrant

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/lua"
	"github.com/redlatch/redlatch/watchdog"
)

const (
	// followPause is the least time between two commands that move the field after a
	// holder. Owners that come and go in it are skipped.
	followPause = 5 * time.Millisecond
	// followLast is the longest, while Redis does not answer or refuses.
	followLast = time.Second
)

// follow has the field in Redis follow the holder, in the background: to the present one
// at once, and again while it keeps changing. The caller has queue.mu.
func (q *queue) follow() {
	if q.follows {
		return
	}
	q.follows = q.goBackground(func() {
		returned := false
		defer func() {
			if !returned { // a hook of go-redis has ended the goroutine: the next hand-off begins another one
				q.mu.Lock()
				defer q.mu.Unlock()
				q.follows = false
			}
		}()
		for pause := followPause; ; {
			err := q.alignHolder()
			if err != nil && !errors.Is(err, errMoot) {
				pause = min(2*pause, followLast)
			} else {
				pause = followPause
			}
			q.c.pauseOpen(pause)
			if q.caughtUp() {
				returned = true
				return
			}
		}
	})
}

// alignHolder is align for a caller that does not have the wire.
func (q *queue) alignHolder() error {
	q.wire <- struct{}{}
	defer func() { <-q.wire }()
	return q.align(q.c.ctx, nil)
}

// caughtUp ends follow if there is nothing left to move, in one step: a hand-off after it
// begins another one.
func (q *queue) caughtUp() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if h := q.holder; h != nil && h.state == live && !h.aligned() && !q.c.isClosing() {
		return false
	}
	q.follows = false
	return true
}

// aligned reports whether the field in Redis is the holder's own, and not one that was left
// with a hold count by an earlier tenure of the same owner. The caller has queue.mu.
func (h *holding) aligned() bool {
	l := h.lease
	return l.heir == "" && l.field == h.owner && (l.tenant == h || !l.nested)
}

// align moves the field in Redis to the owner of h, or of whoever is the holder if h is nil.
// It returns errMoot if that is not live any more, and the holder's loss if Redis does not know
// the lease. The caller has the wire.
func (q *queue) align(ctx context.Context, h *holding) error {
	for {
		q.mu.Lock()
		who := q.holder
		if who == nil || who.state != live || h != nil && h != who {
			q.mu.Unlock()
			return errMoot
		}
		if who.aligned() {
			q.mu.Unlock()
			return nil
		}
		l := who.lease
		if l.heir == "" && l.field == who.owner {
			q.mu.Unlock()
			if err := q.recount(ctx, who); err != nil {
				return err
			}
			continue
		}
		doubted := l.heir != "" // that move may have run, or may still: it comes first
		if !doubted {
			l.heir, l.moved = who.owner, time.Now()
			q.c.watchdog.Retarget(&l.watch, l.target())
		}
		from, to := l.field, l.heir
		q.mu.Unlock()
		if err := q.move(ctx, l, from, to, doubted); err != nil {
			return err
		}
		if h == nil && !doubted {
			return nil // there may be another holder by now, and so on
		}
	}
}

// recount tells the hold count of a holder whose field stands with that of an earlier tenure.
func (q *queue) recount(ctx context.Context, h *holding) error {
	g, _, err := q.send(func(o lua.Order) (lua.Granted, error) {
		return lua.Count{Owner: h.owner, Count: 1, Order: o}.Run(ctx, q.c.commands, &q.keys)
	})
	if lua.ForeignKey(err) || err == nil && g.Verdict == lua.NotHeld {
		q.lose(h.lease, Overridden)
		return errMoot
	}
	if err == nil {
		q.mu.Lock()
		h.lease.tenant, h.lease.nested = h, false
		q.mu.Unlock()
	}
	return err
}

// alignField moves the field in Redis to the holder of this Client, if there is one, before
// a query.
func (l *Lock) alignField(ctx context.Context) error {
	q := l.c.findQueue(l)
	if q == nil {
		return nil
	}
	defer q.leave()
	q.mu.Lock()
	behind := q.holder != nil && q.holder.state == live && !q.holder.aligned()
	q.mu.Unlock()
	if behind {
		q.wire <- struct{}{}
		defer func() { <-q.wire }()
		if err := q.align(ctx, nil); !errors.Is(err, errMoot) {
			return err
		}
	}
	return nil
}

// move moves the field of a lease.
func (q *queue) move(ctx context.Context, l *lease, from, to string, doubted bool) error {
	lease := q.c.cfg.lease
	g, unanswered, err := q.send(func(o lua.Order) (lua.Granted, error) {
		return lua.Transfer{From: from, To: to, Lease: lease, Order: o, Wake: q.c.wakeUp()}.
			Run(ctx, q.c.commands, &q.keys)
	})
	if lua.ForeignKey(err) || err == nil && g.Verdict == lua.NotHeld {
		q.lose(l, Overridden)
		return errMoot
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	l.asked(lease, holdKind{})
	switch {
	case err == nil:
		l.field, l.heir, l.nested = to, "", false
		q.turns.told(g, time.Now())
	case !unanswered && !doubted:
		l.heir = "" // has not run
	default:
		return err
	}
	q.c.watchdog.Retarget(&l.watch, l.target())
	if err == nil {
		// Counted from the first try that may have run: a second one finds the field
		// moved and leaves the TTL as it is.
		if h := q.holder; h != nil && h.lease == l && h.state == live && h.extension(lease) > 0 {
			q.c.watchdog.Update(&l.watch, h.schedule(watchdog.Validity(l.moved, lease)))
		}
	}
	return err
}
