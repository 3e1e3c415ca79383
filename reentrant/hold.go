package reentrant

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/lockstate"
	"github.com/redlatch/redlatch/internal/scope"
)

// Hold is one hold on a [Lock], as a value. It is safe for use by many goroutines.
type Hold struct {
	*handle
	leak runtime.Cleanup
}

// handle is a Hold as the library keeps it. Neither the handle nor its ctx may refer to the Hold: the
// Hold has to become garbage when the caller drops it (leak.go).
type handle struct {
	h      *ownership
	ctx    context.Context
	cancel context.CancelCauseFunc
	kind   lockstate.HoldKind
	outer  scope.Scope // the next scope outside this hold, in its ctx
	member bool        // a MultiLock's: its ctx alone limits the wait of the release

	released bool // guarded by lockState.mu
}

// Acquire takes the lock as [Lock.Lock] does, with the same errors, and returns the hold as a value. Each
// Acquire makes a Hold of its own, also on re-entry, and each Hold needs one [Hold.Release]. With
// [WithWait] Acquire returns [ErrBusy] where [Lock.TryLock] returns false and nil.
//
// The Client renews the lock until the Hold is released, also if the program drops the Hold. If a Hold
// becomes garbage that was not released and has no fixed lease, the Client logs a warning, to the logger
// of [WithLogger] or else to [slog.Default].
func (l *Lock) Acquire(ctx context.Context, opts ...AcquireOption) (*Hold, error) {
	r := l.request()
	for _, opt := range opts {
		if err := opt(&r.terms); err != nil {
			return nil, err
		}
	}
	hold, err := l.hold(ctx, &r)
	if err == nil {
		hold.watchLeak()
	}
	return hold, err
}

// hold is Acquire for callers that will release the hold.
func (l *Lock) hold(ctx context.Context, r *request) (*Hold, error) {
	r.Handle = true
	o, err := l.acquire(ctx, r)
	if err != nil {
		return nil, err
	}
	hold := &handle{h: o, kind: r.HoldKind, outer: scope.Of(ctx), member: r.member}
	hold.ctx, hold.cancel = context.WithCancelCause(scope.With(ctx, (*holdScope)(hold)))
	o.attach(hold)
	return &Hold{handle: hold}, nil
}

// attach makes the hold's ctx end with the ownership. If that has ended already, attach ends the ctx now.
func (o *ownership) attach(hold *handle) {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	switch o.State() {
	case lockstate.Live:
		o.handles = append(o.handles, hold)
	case lockstate.Releasing:
		hold.cancel(ErrReleased)
	case lockstate.Ended:
		hold.cancel(o.err)
	}
}

// Do acquires the lock, calls fn with the hold's ctx and releases the lock, also when fn panics. It
// returns the error of the acquisition, or fn's error joined with the error of the release. A nil error
// means that fn succeeded and held the lock to the end. If the lock is lost meanwhile, fn's ctx ends and
// the error is [ErrLost], whatever fn returns. The release waits as [Lock.Unlock] does: also when ctx was
// cancelled.
//
// The error is [ErrBusy] only if fn was not called. If fn returns an error about another busy lock, the
// error of Do is not ErrBusy. If fn has returned the loss already, Do does not tell it a second time.
//
// With [WriteBehind] a release that hands the lock to a waiter of this Client sends nothing: the error is
// nil also if Redis had forgotten the lock by then.
//
// Calls that get fn's ctx enter the lock again, on any goroutine, see [Hold.Context].
func (l *Lock) Do(ctx context.Context, fn func(ctx context.Context) error) (err error) {
	r := l.request()
	hold, err := l.hold(ctx, &r)
	if err != nil {
		return err
	}
	defer func() { err = errs.Join(errs.Without(err, ErrBusy), hold.Release(ctx)) }()
	return fn(hold.Context())
}

// Context returns a ctx made from the one that was given to Acquire. It ends when that one ends. It also
// ends with a cause ([context.Cause]): [ErrLost] when the lock is lost, [ErrReleased] when this hold is
// released, [ErrClosed] when the Client was closed under the hold. If it is the release that finds the
// loss, the cause is ErrReleased; the error of the release and the event Lost tell the loss.
//
// The ctx carries the hold: a call that takes the same lock with it enters the lock again, on any
// goroutine. For other locks it says nothing: every other lock keeps goroutines apart that share the ctx.
// Once the hold is released the ctx enters nothing any more. Once the lock is lost a call with the ctx
// gets [ErrLost]. [WithOwner] and [WithNewOwner] hide the hold.
func (h *Hold) Context() context.Context { return h.ctx }

// Lost returns a channel that is closed when the lock is lost, at [Hold.ValidUntil] at the latest, or
// when the Client was closed under the hold. The scheduling of goroutines may delay that, and a process
// that is stopped cannot be told. A release does not close the channel, also not one that finds the lock
// lost and returns [ErrLost].
func (h *Hold) Lost() <-chan struct{} {
	s := h.h.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.h.lost == nil {
		h.h.lost = make(chan struct{})
		if h.h.State() == lockstate.Ended && h.h.err != ErrReleased {
			close(h.h.lost)
		}
	}
	return h.h.lost
}

// ValidUntil returns the instant up to which the hold may be trusted. It is counted from before the last
// confirmed command was sent, less 1 % and 2 ms for drifting clocks. Renewal moves it on. Once the hold
// has ended it stays.
func (h *Hold) ValidUntil() time.Time {
	s := h.h.s
	s.mu.Lock()
	defer s.mu.Unlock()
	return h.h.Ownership.ValidUntil()
}

// Token returns the fencing token. It is greater than the token of every earlier holder, and the same for
// nested holds. It is 0 unless the lock has [WithFencing]. If a conditional write with it changes 0 rows,
// the resource has refused the write: treat that as an error.
func (h *Hold) Token() int64 { return h.h.Ownership.Token() }

// Owner returns the owner's field in the lock's hash: the Client's ID, a colon, and the goroutine's id or
// the owner given by [WithOwner]. If a given owner is a number or begins with "=", a "=" stands before
// it. An owner of [WithNewOwner] is "=new-" and a number.
func (h *Hold) Owner() string { return h.h.Ownership.Owner() }

// Release releases this hold, on any goroutine and whatever the owner of ctx is. Other holds of the owner
// stay. It waits and fails as [Lock.Unlock] does, with two differences. After a loss it always returns
// [ErrLost], however long ago the loss was. A second call returns [ErrNotHeld], whatever the first one
// returned. If the hold's ctx has ended with the loss before, the text is a short one, so
// errors.Join(workErr, hold.Release(ctx)) prints the loss once. errors.As finds it whole.
func (h *Hold) Release(ctx context.Context) error {
	return h.release(ctx, 0)
}

// release ends the hold. If after is above 0, no owner can take the lock for so long (linger.go).
func (h *Hold) release(ctx context.Context, after time.Duration) error {
	err := h.h.s.unlock(ctx, identity{owner: h.Owner()}, h.handle, after)
	if !errors.Is(err, ErrNested) {
		h.leak.Stop() // at the end, so that the Hold is no garbage before
	}
	return err
}

// String names the lock and the owner.
func (h *Hold) String() string {
	return fmt.Sprintf("%s held by %s", h.h.s.name, h.Owner())
}
