package reentrant

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/lua"
	"github.com/redlatch/redlatch/watchdog"
)

var (
	// ErrRenewed: [Hold.Extend] is for holds with a fixed lease. A renewed hold needs none, and is as it was.
	ErrRenewed = errors.New("redlatch: the hold is renewed")

	// ErrNotExtended: Redis has not confirmed that the lease is longer. The hold goes on as it was. [NotExtendedError]
	ErrNotExtended = errors.New("redlatch: lease not extended")
)

// NotExtendedError is [ErrNotExtended] with what is known, and also whatever Err is.
type NotExtendedError struct {
	Name       string
	Owner      string
	ValidUntil time.Time // of the hold, as before
	Err        error     // why there is no confirmation
}

func (e *NotExtendedError) Error() string {
	return fmt.Sprintf("redlatch: lease of lock %q not extended, valid for %v: %v",
		e.Name, max(0, time.Until(e.ValidUntil)).Round(time.Millisecond), e.Err)
}

// Is makes it [ErrNotExtended].
func (e *NotExtendedError) Is(target error) bool { return target == ErrNotExtended }

// Unwrap gives the reason.
func (e *NotExtendedError) Unwrap() error { return e.Err }

// Extend makes a hold with a fixed lease ([WithFixedLease]) last for d from now, 1 ms to 100 years, otherwise
// [ErrInvalidLease]. It never shortens: a lease that is longer stays. Other holds of the owner on this lock gain by it too, as
// they share its lease. [WithMaxHold] does not limit it.
//
// It waits for Redis' confirmation until ctx ends, by a cancellation too, or its own retries do: none
// begins later than 2 s after the first try.
//
//   - [ErrRenewed]: the hold is renewed. Nothing was sent.
//   - [ErrNotHeld]: the hold was released.
//   - [ErrLost]: the lock is lost, which may be what Extend has found.
//   - [ErrNotExtended]: Redis has not answered, or refused (it does when its memory is full). [Hold.ValidUntil] is as
//     before. The command may have run, or may still; then the lock lives longer in Redis, and a confirmation that comes
//     after the call counts. A release frees it in any case.
//   - [ErrClosed]: the Client is closed.
func (h *Hold) Extend(ctx context.Context, d time.Duration) error {
	if err := checkLease(d); err != nil {
		return err
	}
	if !h.kind.fixed {
		return named(h.h.q.name, ErrRenewed)
	}
	q := h.h.q
	q.mu.Lock()
	if err := h.over(); err != nil {
		q.mu.Unlock()
		return err
	}
	if ctx.Err() != nil {
		q.mu.Unlock()
		return h.notExtended(whyEnded(ctx))
	}
	q.keep() // a release may end the holding, and its share in the queue, before the command begins
	q.mu.Unlock()
	defer q.leave()

	x := &extending{hold: h, request: request{lease: d, holdKind: holdKind{fixed: true}}}
	interrupted := q.call(ctx, nil, nil, func(ctx context.Context) {
		q.wire <- struct{}{}
		defer func() { <-q.wire }()
		x.run(ctx)
	})
	switch {
	case interrupted == nil:
		return x.err
	case errors.Is(interrupted, ErrClosed):
		return ErrClosed
	case errors.Is(interrupted, errInterrupted):
		interrupted = whyEnded(ctx)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	x.gone = true
	if err := h.over(); err != nil {
		return err // for which ctx has ended, as a rule
	}
	return h.notExtendedLocked(interrupted)
}

// over says why a hold has ended, and nil if it goes on. The caller has queue.mu.
func (h *Hold) over() error {
	switch of := h.h; {
	case of.state == ended && of.err != ErrReleased:
		return of.err
	case h.released, of.state != live:
		return &NotHeldError{Name: of.q.name, Owner: of.owner}
	}
	return nil
}

func (h *Hold) notExtended(err error) error {
	h.h.q.mu.Lock()
	defer h.h.q.mu.Unlock()
	return h.notExtendedLocked(err)
}

// notExtendedLocked is notExtended for a caller that has queue.mu.
func (h *Hold) notExtendedLocked(err error) error {
	return &NotExtendedError{Name: h.h.q.name, Owner: h.h.owner, ValidUntil: h.h.lease.validUntil(), Err: err}
}

// extending is one Extend on its way.
type extending struct {
	hold *Hold
	request

	sent time.Time // of the last try; zero: Redis was told nothing; with the wire
	gone bool      // the call has left; guarded by queue.mu
	err  error
}

// run sends the hold count as it is, with the lease that is wanted, and settles the answer. The caller has the wire.
func (x *extending) run(ctx context.Context) {
	returned := false
	defer func() {
		if !returned {
			_ = x.settle(errAborted)
		}
	}()
	err := x.tell(ctx)
	returned = true
	if lost := x.settle(err); lost != nil {
		x.hold.h.tellLost(lost)
	}
}

func (x *extending) tell(ctx context.Context) error {
	h := x.hold.h
	q := h.q
	if err := q.align(ctx, h); err != nil {
		return err
	}
	g, doubted, err := q.send(func(o lua.Order) (lua.Granted, error) {
		q.mu.Lock()
		if x.gone || x.hold.over() != nil {
			q.mu.Unlock()
			return lua.Granted{}, errMoot
		}
		h.lease.tenant, h.lease.nested = h, h.lease.nested || h.count > 1
		h.lease.asked(x.lease, x.holdKind)
		x.sent = time.Now()
		count := h.count
		q.mu.Unlock()
		return lua.Count{Owner: h.owner, Count: count, Lease: x.lease, Order: o}.Run(ctx, q.c.commands, &q.keys)
	})
	if lua.ForeignKey(err) || err == nil && g.Verdict == lua.NotHeld && !x.sent.IsZero() {
		q.lose(h.lease, Overridden)
		return errMoot
	}
	if err == nil && doubted && g.Verdict != lua.Done {
		return errInterrupted // by now nobody asks, and the tries before have no answer
	}
	return err
}

// settle moves the validity on, or says why not. It returns the loss that it has found, to be told.
func (x *extending) settle(err error) (lost *LostError) {
	h := x.hold.h
	q := h.q
	q.mu.Lock()
	defer q.mu.Unlock()
	switch over := x.hold.over(); {
	case over != nil:
		x.err = over
		if errors.Is(over, ErrLost) && !x.sent.IsZero() {
			h.lease.cleanUp(h.lease.expiry()) // it may have been made longer for nobody
		}
	case err != nil && !errors.Is(err, errMoot):
		h.lease.orphan = h.lease.orphan || !x.sent.IsZero()
		x.err = x.hold.notExtendedLocked(err)
	case x.sent.IsZero(): // the call has left
	case !q.c.watchdog.Update(&h.lease.watch, h.schedule(watchdog.Validity(x.sent, x.lease))):
		h.lease.orphan = true
		lost = h.endLost(LeaseEnded)
		x.err = lost
	}
	return lost
}
