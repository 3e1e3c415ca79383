package reentrant

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/lua"
	"github.com/redlatch/redlatch/watchdog"
)

// errGone: the holding ended before it could be entered again.
var errGone = errors.New("holding has ended")

// reenter adds a hold to a live holding. It returns errGone if that has ended by
// an unlock meanwhile: the call then has to queue.
func (h *holding) reenter(ctx context.Context, r request) error {
	q := h.q
	// Guarded by queue.mu: they decide the race between the answer and the end of
	// ctx.
	var entered, gone bool
	var lost *LostError // to be told without it

	var err error
	limit, stop := r.limit()
	defer stop()
	interrupted := q.call(ctx, limit, nil, func(ctx context.Context) {
		q.wire <- struct{}{}
		defer func() { <-q.wire }()
		told, g, e := h.tellEntry(ctx, r, &gone)
		q.mu.Lock()
		if !told.sent.IsZero() {
			h.lease.asked(r)
		}
		switch {
		case gone && told.sent.IsZero():
			e = errInterrupted // and Redis was told nothing
		case h.state != live:
			e = errGone
			if errors.Is(h.err, ErrLost) {
				e = h.err
				if !told.sent.IsZero() && g.Verdict != lua.NotHeld {
					// The lease was extended for nobody, or may have been: a
					// command without an answer may have run, or may still.
					h.lease.cleanUp(h.lease.expiry())
				}
			}
		case e != nil:
			h.lease.orphan = true
			q.settleCount(h)
		case gone:
			e = errInterrupted
			h.lease.orphan = true
			q.settleCount(h)
		case !h.push(r.fixed, watchdog.Validity(told.sent, told.lease)):
			// Who is told that it holds the lock must not hear of the loss only then.
			h.lease.orphan = true
			lost = h.endLost(LeaseEnded)
			e = lost
		default:
			entered = true
		}
		err = e
		q.mu.Unlock()
		if lost != nil {
			q.c.tellLost(lost)
		}
		if e == nil {
			q.c.reentered(Event{Name: q.name, Owner: h.owner, Count: told.count, Token: h.token})
		}
	})
	if interrupted == nil {
		return err
	}
	if errors.Is(interrupted, ErrClosed) {
		return ErrClosed
	}
	why := errNoAnswer // in time: it was the limit
	if ctx.Err() != nil {
		why = whyEnded(ctx)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	gone = true
	switch {
	case entered && errors.Is(h.err, ErrLost):
		q.forgetLost(h) // the caller has no hold to release
		return h.err
	case entered && h.state == live && why == errNoAnswer:
		return nil // at this very moment
	case entered:
		q.giveBack(context.WithoutCancel(ctx), h, r.fixed, why)
	}
	return why
}

// extension is by how much a re-entry with that lease may extend the lock: not at
// all once WithMaxHold has ended renewal, of which it would be a kind.
func (h *holding) extension(lease time.Duration) time.Duration {
	if limit := h.q.c.cfg.maxHold; limit > 0 && time.Since(h.since) >= limit {
		return 0
	}
	return lease
}

// entry is what Redis was told of a nested hold, by the last try.
type entry struct {
	count int           // with it
	lease time.Duration // 0: the TTL is left; of each try, as WithMaxHold's limit may have come since the last
	sent  time.Time     // zero: Redis was told nothing
}

// tellEntry sends the hold count with one hold more, unless the caller is gone: then the
// same goroutine may have entered by another call already, and would be counted twice. The
// caller has the wire, so that h.count cannot rise until the answer.
func (h *holding) tellEntry(ctx context.Context, r request, gone *bool) (told entry, g lua.Granted, err error) {
	q := h.q
	if err := q.align(ctx, h); err != nil {
		if errors.Is(err, errMoot) {
			err = nil // the caller finds the holding at its end
		}
		return told, g, err
	}
	g, _, err = q.send(func(o lua.Order) (lua.Granted, error) {
		q.mu.Lock()
		if h.state != live || *gone {
			q.mu.Unlock()
			return lua.Granted{}, errMoot
		}
		h.lease.tenant, h.lease.nested = h, true
		h.lease.asked(r) // a release that is not confirmed has to reckon with it already
		told = entry{count: h.count + 1, lease: h.extension(r.lease), sent: time.Now()}
		q.mu.Unlock()
		return lua.Count{Owner: h.owner, Count: told.count, Lease: told.lease, Order: o}.Run(ctx, q.c.commands, &q.keys)
	})
	switch {
	case lua.ForeignKey(err):
		q.lose(h.lease, Overridden)
		return told, g, foreign(q.name, err)
	case err == nil && g.Verdict == lua.NotHeld:
		q.lose(h.lease, Overridden)
	}
	return told, g, err
}
