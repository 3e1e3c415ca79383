package multilock

import (
	"context"
	"slices"

	"github.com/redlatch/redlatch/reentrant"
)

var _ reentrant.Doer = (*MultiLock)(nil)

// With returns the MultiLock with other defaults for its acquisitions, as [reentrant.Lock.With] does:
// [reentrant.WithWait], [reentrant.WithFixedLease]. What a method is told explicitly goes first. It is
// the same lock, with the same holds. As a member of another MultiLock its defaults do not count.
func (l *MultiLock) With(opts ...reentrant.AcquireOption) *MultiLock {
	other := *l
	other.with = slices.Concat(l.with, opts)
	_, other.err = reentrant.TermsOf(other.with...)
	return &other
}

// terms are those of a call with these options.
func (l *MultiLock) terms(opts []reentrant.AcquireOption) (reentrant.Terms, error) {
	if l.err != nil {
		return reentrant.Terms{}, l.err
	}
	return reentrant.TermsOf(slices.Concat(l.with, opts)...)
}

// lock takes the lock for an Unlock to come.
func (l *MultiLock) lock(ctx context.Context, opts ...reentrant.AcquireOption) error {
	terms, err := l.terms(opts)
	if err != nil {
		return err
	}
	_, err = l.acquire(ctx, terms, forUnlock)
	return err
}
