package reentrant

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Hold is one hold on a [Lock], as a value. It is safe for use by many goroutines.
type Hold struct {
	h      *holding
	ctx    context.Context
	cancel context.CancelCauseFunc
	fixed  bool

	released bool // guarded by queue.mu
}

// Acquire takes the lock as [Lock.Lock] does, with the same errors, and returns the hold as a
// value. Each Acquire makes a Hold of its own, also on re-entry, and wants one
// [Hold.Release]. With [WithWait] it returns [ErrNotAcquired] where [Lock.TryLock] returns false.
func (l *Lock) Acquire(ctx context.Context, opts ...AcquireOption) (*Hold, error) {
	r := request{lease: l.c.cfg.lease}
	for _, opt := range opts {
		if err := opt(&r); err != nil {
			return nil, err
		}
	}
	h, err := l.acquire(ctx, r)
	if err != nil {
		return nil, err
	}
	hold := &Hold{h: h, fixed: r.fixed}
	owner := h.owner[len(l.c.id)+1:]
	hold.ctx, hold.cancel = context.WithCancelCause(context.WithValue(ctx, ownerKey{}, owner))
	h.attach(hold)
	return hold, nil
}

// attach has the hold's ctx end with the holding, or ends it now.
func (h *holding) attach(hold *Hold) {
	h.q.mu.Lock()
	defer h.q.mu.Unlock()
	switch h.state {
	case live:
		h.handles = append(h.handles, hold)
	case releasing:
		hold.cancel(ErrReleased)
	case ended:
		hold.cancel(h.err)
	}
}

// releaseWithin bounds the release after [Lock.Do], whose ctx may have ended.
const releaseWithin = 5 * time.Second

// Do acquires the lock, calls fn with the hold's ctx and releases the lock, also
// when fn panics. It returns the error of the acquisition, or fn's error joined
// with that of the release: a nil error means that fn succeeded and held the lock
// to the end. If the lock is lost meanwhile fn's ctx ends and the error is
// [ErrLost], whatever fn returns. The release is not ended by ctx; it is given 5 s.
//
// With [WriteBehind] a release that hands the lock to a waiter of this Client asks nobody: the
// error is nil also if Redis had forgotten the lock by then.
//
// All goroutines that fn gives its ctx to are one owner, see [Hold.Context].
func (l *Lock) Do(ctx context.Context, fn func(ctx context.Context) error) (err error) {
	hold, err := l.Acquire(ctx)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseWithin)
		defer cancel()
		err = errors.Join(err, hold.Release(ctx))
	}()
	return fn(hold.Context())
}

// Context returns a ctx made from the one that was given to Acquire. It ends when that one
// ends, or with the cause ([context.Cause]) [ErrLost] when the lock is lost, [ErrReleased]
// when this hold is released, [ErrClosed] when the Client was closed under the hold. If it is
// the release that finds the loss, the cause is ErrReleased; the error of the release and the
// event Lost tell.
//
// It carries the owner: whoever locks the same name with it re-enters. The owner is that of
// every lock, not only of this one. So goroutines that share the ctx are kept apart by no lock at
// all: give each an owner of its own with [WithOwner].
func (h *Hold) Context() context.Context { return h.ctx }

// Lost returns a channel that is closed when the lock is lost, at [Hold.ValidUntil] at the
// latest (but for the scheduling of goroutines; a process that is stopped cannot be told),
// or when the Client was closed under the hold. It is not closed by a release, also not by one that
// finds the lock lost and returns [ErrLost].
func (h *Hold) Lost() <-chan struct{} {
	q := h.h.q
	q.mu.Lock()
	defer q.mu.Unlock()
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
// begins with "=", has a "=" before it.
func (h *Hold) Owner() string { return h.h.owner }

// Release releases this hold, on any goroutine and whatever the owner of ctx is. Other holds
// of the owner stay. It waits and fails as [Lock.Unlock] does, with two differences: after a
// loss it always returns [ErrLost], however long ago that was, and a second call returns
// [ErrNotHeld], whatever the first one returned.
func (h *Hold) Release(ctx context.Context) error {
	return h.h.q.unlock(ctx, h.h.owner, h)
}

// String names the lock and the owner.
func (h *Hold) String() string {
	return fmt.Sprintf("%s held by %s", h.h.q.name, h.h.owner)
}
