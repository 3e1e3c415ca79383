package reentrant

import "context"

// Doer runs a function under a lock: a [Lock], what [Lock.With] returns, or a MultiLock of package
// multilock.
type Doer interface {
	// Do takes the lock, calls fn with a ctx that ends when the lock is lost, and releases the lock. The
	// error is nil if fn returned nil and the lock was held to the end.
	Do(ctx context.Context, fn func(ctx context.Context) error) error
}

var _ Doer = (*Lock)(nil)

// With returns the lock with other defaults for its acquisitions: a limit on the wait ([WithWait]), a
// fixed lease ([WithFixedLease]). What a method is told explicitly goes first: the wait of
// TryLock, its lease if that is not 0, the lease of LockLease, the options of Acquire.
//
// It is the same lock: an owner may Lock the one and Unlock the other. The defaults of a lock that
// becomes a member of a MultiLock do not count there. With on top of With adds to it; the last
// word counts. After an option that is not allowed every method returns its error.
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

// request is what a call wants unless it says otherwise.
func (l *Lock) request() request {
	r := l.with
	if !r.fixed {
		r.lease = l.c.cfg.lease
	}
	return r
}

// bare is the lock without the defaults of With.
func (l *Lock) bare() *Lock {
	other := *l
	other.with = request{}
	return &other
}
