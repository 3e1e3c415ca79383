package reentrant

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/scope"
)

// Hold is one hold on a [Lock], as a value. It is safe for use by many goroutines.
type Hold struct {
	*handle
	leak runtime.Cleanup
}

// handle is a Hold as the library keeps it. It must not know the Hold itself, and nor may its ctx: that is garbage
// when the caller has dropped it (leak.go).
type handle struct {
	h      *ownership
	ctx    context.Context
	cancel context.CancelCauseFunc
	kind   holdKind
	outer  scope.Scope // around this hold, in its ctx
	member bool        // of a MultiLock, which limits the wait of the release: ctx ends it in any way

	released bool // guarded by lockState.mu
}

// Acquire takes the lock as [Lock.Lock] does, with the same errors, and returns the hold as a
// value. Each Acquire makes a Hold of its own, also on re-entry, and wants one
// [Hold.Release]. With [WithWait] it returns [ErrBusy] where [Lock.TryLock] returns false and nil.
//
// The lock is renewed until the Hold is released, also if the program drops it. When a Hold that was neither released nor has
// a fixed lease is garbage, that is logged as a warning, to the logger of [WithLogger] or else to [slog.Default].
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
	r.handle = true
	o, err := l.acquire(ctx, r)
	if err != nil {
		return nil, err
	}
	hold := &handle{h: o, kind: r.holdKind, outer: scope.Of(ctx), member: r.member}
	hold.ctx, hold.cancel = context.WithCancelCause(scope.With(ctx, (*holdScope)(hold)))
	o.attach(hold)
	return &Hold{handle: hold}, nil
}

// attach has the hold's ctx end with the ownership, or ends it now.
func (o *ownership) attach(hold *handle) {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	switch o.state {
	case live:
		o.handles = append(o.handles, hold)
	case releasing:
		hold.cancel(ErrReleased)
	case ended:
		hold.cancel(o.err)
	}
}

// Do acquires the lock, calls fn with the hold's ctx and releases the lock, also
// when fn panics. It returns the error of the acquisition, or fn's error joined
// with that of the release: a nil error means that fn succeeded and held the lock
// to the end. If the lock is lost meanwhile fn's ctx ends and the error is
// [ErrLost], whatever fn returns. The release waits as [Lock.Unlock] does: also when ctx was
// cancelled.
//
// The error is [ErrBusy] only if fn was not called: an error of fn's that tells of another lock is not.
// A loss that fn has returned already is not told a second time.
//
// With [WriteBehind] a release that hands the lock to a waiter of this Client asks nobody: the
// error is nil also if Redis had forgotten the lock by then.
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

// Context returns a ctx made from the one that was given to Acquire. It ends when that one
// ends, or with the cause ([context.Cause]) [ErrLost] when the lock is lost, [ErrReleased]
// when this hold is released, [ErrClosed] when the Client was closed under the hold. If it is
// the release that finds the loss, the cause is ErrReleased; the error of the release and the
// event Lost tell.
//
// It carries the hold: a call that takes the same lock with it enters the lock again, on any
// goroutine. For other locks it says nothing: goroutines that share the ctx are kept apart by
// every other lock. Once the hold is released the ctx enters nothing any more; once the lock is
// lost a call with it gets [ErrLost]. [WithOwner] and [WithNewOwner] hide the hold.
func (h *Hold) Context() context.Context { return h.ctx }

// Lost returns a channel that is closed when the lock is lost, at [Hold.ValidUntil] at the
// latest (but for the scheduling of goroutines; a process that is stopped cannot be told),
// or when the Client was closed under the hold. It is not closed by a release, also not by one that
// finds the lock lost and returns [ErrLost].
func (h *Hold) Lost() <-chan struct{} {
	s := h.h.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.h.lost == nil {
		h.h.lost = make(chan struct{})
		if h.h.state == ended && h.h.err != ErrReleased {
			close(h.h.lost)
		}
	}
	return h.h.lost
}

// ValidUntil returns until when the hold may be trusted: counted from before the
// last confirmed command was sent, less 1 % and 2 ms for drifting clocks. Renewal
// moves it on. Once the hold has ended it stays.
func (h *Hold) ValidUntil() time.Time { return h.h.validUntil() }

// Token returns the fencing token: greater than that of every earlier holder, and
// the same for nested holds. It is 0 unless the lock has [WithFencing]. A conditional write
// with it that changes 0 rows was refused, and has to be treated as an error.
func (h *Hold) Token() int64 { return h.h.token }

// Owner returns the owner's field in the lock's hash: the Client's ID, a colon, and
// the goroutine's id or the owner given by [WithOwner]. One that was given and is a number, or
// begins with "=", has a "=" before it. One of [WithNewOwner] is "=new-" and a number.
func (h *Hold) Owner() string { return h.h.owner }

// Release releases this hold, on any goroutine and whatever the owner of ctx is. Other holds
// of the owner stay. It waits and fails as [Lock.Unlock] does, with two differences: after a
// loss it always returns [ErrLost], however long ago that was, and a second call returns
// [ErrNotHeld], whatever the first one returned. If the hold's ctx has ended with the loss before, the text
// is a short one: errors.Join(workErr, hold.Release(ctx)) prints the loss once. errors.As finds it whole.
func (h *Hold) Release(ctx context.Context) error {
	return h.release(ctx, 0)
}

// release ends the hold, and leaves the lock to nobody for so long (linger.go).
func (h *Hold) release(ctx context.Context, after time.Duration) error {
	err := h.h.s.unlock(ctx, identity{owner: h.h.owner}, h.handle, after)
	if !errors.Is(err, ErrNested) {
		h.leak.Stop() // after: until here the Hold is no garbage
	}
	return err
}

// String names the lock and the owner.
func (h *Hold) String() string {
	return fmt.Sprintf("%s held by %s", h.h.s.name, h.h.owner)
}
