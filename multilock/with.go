package multilock

import (
	"context"
	"slices"

	"github.com/redlatch/redlatch/reentrant"
)

var _ reentrant.Doer = (*MultiLock)(nil)

// With returns the MultiLock with other defaults for its acquisitions, as [reentrant.Lock.With] does:
// [reentrant.WithWait], [reentrant.WithFixedLease]. An explicit argument of a method goes first. The
// result is the same lock, with the same holds. As a member of another MultiLock it does not use
// these defaults.
func (l *MultiLock) With(opts ...reentrant.AcquireOption) *MultiLock {
	other := *l
	other.with = slices.Concat(l.with, opts)
	_, other.err = reentrant.TermsOf(other.with...)
	return &other
}

// terms are the terms of a call with these options.
func (l *MultiLock) terms(opts []reentrant.AcquireOption) (reentrant.Terms, error) {
	if l.err != nil {
		return reentrant.Terms{}, l.err
	}
	return reentrant.TermsOf(slices.Concat(l.with, opts)...)
}

// lock takes the lock with a hold that an Unlock releases.
func (l *MultiLock) lock(ctx context.Context, opts ...reentrant.AcquireOption) error {
	terms, err := l.terms(opts)
	if err != nil {
		return err
	}
	_, err = l.acquire(ctx, terms, forUnlock)
	return err
}
