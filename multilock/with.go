package multilock

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/multi"
	"github.com/redlatch/redlatch/reentrant"
)

var _ reentrant.Doer = (*MultiLock)(nil)

// With returns the MultiLock with other defaults for its acquisitions, as [reentrant.Lock.With] does:
// [reentrant.WithWait], [reentrant.WithFixedLease]. An explicit argument of a method goes first. The
// result is the same lock, with the same holds. As a member of another MultiLock it does not use
// these defaults.
func (l *MultiLock) With(opts ...reentrant.AcquireOption) *MultiLock {
	other := *l
	other.with, other.err = l.terms(opts)
	return &other
}

// terms are the terms of a call with these options.
func (l *MultiLock) terms(opts []reentrant.AcquireOption) (multi.Terms, error) {
	if l.err != nil {
		return multi.Terms{}, l.err
	}
	terms := l.with
	for _, opt := range opts {
		if err := opt(&terms); err != nil {
			return multi.Terms{}, err
		}
	}
	return terms, nil
}

// checkLease is the check of [reentrant.WithFixedLease].
func checkLease(lease time.Duration) error { return reentrant.WithFixedLease(lease)(new(multi.Terms)) }

// lock takes the lock with a hold that an Unlock releases.
func (l *MultiLock) lock(ctx context.Context, opts ...reentrant.AcquireOption) error {
	terms, err := l.terms(opts)
	if err != nil {
		return err
	}
	_, err = l.acquire(ctx, terms, forUnlock)
	return err
}
