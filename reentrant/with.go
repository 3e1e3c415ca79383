package reentrant

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/multi"
)

// Doer runs a function under a lock: a [Lock], the result of [Lock.With], or a MultiLock of package
// multilock.
type Doer interface {
	// Do takes the lock, calls fn with a ctx that ends when the lock is lost, and releases the lock. The
	// error is nil if fn returned nil and the lock was held to the end.
	Do(ctx context.Context, fn func(ctx context.Context) error) error
}

var _ Doer = (*Lock)(nil)

// With returns the lock with other defaults for its acquisitions: a limit on the wait ([WithWait]), a
// fixed lease ([WithFixedLease]). What a method is told explicitly goes first: the wait of TryLock, its
// lease if that is not 0, the lease of LockLease, the options of Acquire.
//
// It is the same lock: an owner may Lock the one and Unlock the other. If the lock becomes a member of a
// MultiLock, its defaults do not count there. With on top of With adds to it, and the last word counts.
// After an option that is not allowed every method returns the option's error.
//
//	err := lock.With(reentrant.WithWait(2*time.Second)).Do(ctx, fn)
func (l *Lock) With(opts ...AcquireOption) *Lock {
	other := *l
	for _, opt := range opts {
		if err := opt(&other.with); err != nil && other.err == nil {
			other.err = err
		}
	}
	return &other
}

// request is what a call wants unless the call says otherwise.
func (l *Lock) request() request { return request{caller: caller{terms: l.with}} }

// leaseOf is the lease of a call, and whether it is a fixed one.
func (c *Client) leaseOf(terms multi.Terms) (lease time.Duration, fixed bool) {
	if terms.Lease != 0 {
		return terms.Lease, true
	}
	return c.cfg.lease, false
}
