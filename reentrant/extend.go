package reentrant

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/lockstate"
	"github.com/redlatch/redlatch/lua"
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
	if !h.kind.Fixed {
		return named(h.h.s.name, ErrRenewed)
	}
	s := h.h.s
	s.mu.Lock()
	if err := h.over(); err != nil {
		s.mu.Unlock()
		return err
	}
	if ctx.Err() != nil {
		s.mu.Unlock()
		return h.notExtended(whyEnded(ctx))
	}
	if h.h.Reader() { // Redis has a longer lease for all of them, and the Client renews it
		s.state.EndAfter(&h.h.Ownership, d, time.Now())
		s.mu.Unlock()
		return nil
	}
	s.addUser() // a release may end the ownership, and its share in the queue, before the command begins
	s.mu.Unlock()
	defer s.dropUser()

	x := &extending{hold: h, core: lockstate.Extension{Of: &h.h.Ownership, Lease: d}}
	interrupted := s.call(ctx, nil, nil, func(ctx context.Context) {
		t := s.takeTurn()
		defer t.done()
		x.run(ctx, t)
	})
	if interrupted == nil {
		return x.err
	}
	return h.leftExtension(ctx, x, interrupted)
}

// leftExtension is the error of a call that has not waited for the answer.
func (h *Hold) leftExtension(ctx context.Context, x *extending, interrupted error) error {
	switch {
	case errors.Is(interrupted, ErrClosed):
		return ErrClosed
	case errors.Is(interrupted, errInterrupted):
		interrupted = whyEnded(ctx)
	}
	s := h.h.s
	s.mu.Lock()
	defer s.mu.Unlock()
	x.gone = true
	if err := h.over(); err != nil {
		return err // for which ctx has ended, as a rule
	}
	return h.notExtendedLocked(interrupted)
}

// over says why a hold has ended, and nil if it goes on. The caller has lockState.mu.
func (h *Hold) over() error {
	switch of := h.h; {
	case of.State() == lockstate.Ended && of.err != ErrReleased:
		return of.err
	case h.released, !of.live():
		return &NotHeldError{Name: of.s.name, Owner: of.Owner()}
	}
	return nil
}

func (h *Hold) notExtended(err error) error {
	h.h.s.mu.Lock()
	defer h.h.s.mu.Unlock()
	return h.notExtendedLocked(err)
}

// notExtendedLocked is notExtended for a caller that has lockState.mu.
func (h *Hold) notExtendedLocked(err error) error {
	return &NotExtendedError{Name: h.h.s.name, Owner: h.h.Owner(), ValidUntil: h.h.Lease().ValidUntil(), Err: err}
}

// extending is one Extend on its way.
type extending struct {
	hold *Hold
	core lockstate.Extension // written with the turn
	gone bool                // the call has left; guarded by lockState.mu
	err  error
}

// run sends the hold count as it is, with the lease that is wanted, and settles the answer.
func (x *extending) run(ctx context.Context, t turn) {
	returned := false
	defer func() {
		if !returned {
			_ = x.settle(errAborted)
		}
	}()
	err := x.tell(ctx, t)
	returned = true
	if lost := x.settle(err); lost != nil {
		x.hold.h.tellLost(lost)
	}
}

func (x *extending) tell(ctx context.Context, t turn) error {
	o := x.hold.h
	s := o.s
	if err := s.syncFieldNow(ctx, t, o); err != nil {
		return err
	}
	v, _, err := t.setCount(ctx, s.c.commands, o.Owner(), lockstate.MaxRetries, func() (int, time.Duration, bool) {
		if x.gone || x.hold.over() != nil {
			return 0, 0, false
		}
		return x.core.Send(time.Now()), x.core.Lease, true
	})
	if notOurs(v, err) && x.core.Told() {
		s.lose(o.Lease(), lockstate.Overridden)
		return errSuperseded
	}
	if err == nil && v != lua.Done {
		return errInterrupted // by now nobody asks; the tries before were refused, or have no answer
	}
	return err
}

// settle moves the validity on, or says why not. It returns the loss that it has found, to be told.
func (x *extending) settle(err error) (lost *LostError) {
	o := x.hold.h
	s := o.s
	s.mu.Lock()
	defer s.mu.Unlock()
	switch over := x.hold.over(); {
	case over != nil:
		x.err = over
		s.state.OverBefore(&x.core, time.Now())
	case err != nil && !errors.Is(err, errSuperseded):
		x.core.NotConfirmed()
		x.err = x.hold.notExtendedLocked(err)
	case !x.core.Told(): // the call has left
	case !s.state.Extended(&x.core, time.Now()):
		lost = o.lossErr()
		x.err = lost
	}
	return lost
}
