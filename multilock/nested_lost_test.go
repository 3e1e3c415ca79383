package multilock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// When the monitor has found that an owner has lost the lock, nested calls return ErrLost until the
// owner has released as often as it had locked, though somebody else has had it in between. Then, and after
// a fixed lease that nobody released, it may take it again.
func TestNestedLockAfterAKnownLoss(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		a, b := v.process(), v.process()
		for _, l := range []*multilock.MultiLock{a.all(t, name), a.quorum(t, name, multilock.WithoutQuarantine())} {
			stillLost := func() {
				t.Helper()
				ctx, cancel := context.WithTimeout(v.ctx, time.Minute)
				defer cancel()
				wants(t, l.Lock(ctx), reentrant.ErrLost)
				_, err := l.TryLock(ctx, 0, 0)
				wants(t, err, reentrant.ErrLost)
				wants(t, l.Do(ctx, func(context.Context) error { t.Error("run"); return nil }), reentrant.ErrLost)
			}
			must(t, l.Lock(v.ctx))
			must(t, l.Lock(v.ctx))
			v.s[0].FlushAll()
			v.s[1].FlushAll()
			v.pass(notedIn)
			theirs := b.all(t, name)
			must(t, theirs.Lock(v.ctx))
			stillLost()
			must(t, theirs.Unlock(v.ctx))
			stillLost()
			wants(t, l.Unlock(v.ctx), reentrant.ErrLost)
			stillLost()
			wants(t, l.Unlock(v.ctx), reentrant.ErrLost)
			must(t, l.Do(v.ctx, func(context.Context) error { return nil }))
			for range 2 {
				must(t, l.LockLease(v.ctx, lease))
				v.pass(2 * lease)
			}
			must(t, l.Do(v.ctx, func(context.Context) error { return nil }))
		}
	})
}

// The same for a plain lock that is a member: an owner that has lost it does not get a MultiLock of
// it anew.
func TestNestedMultiLockAfterALossOfAMember(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		a := v.process()
		member := a[1].NewLock(name)
		must(t, member.Lock(v.ctx))
		v.s[1].FlushAll()
		v.pass(notedIn)
		ctx, cancel := context.WithTimeout(v.ctx, time.Minute)
		defer cancel()
		wants(t, a.all(t, name).Lock(ctx), reentrant.ErrNotAcquired, reentrant.ErrLost)
		wants(t, member.Unlock(v.ctx), reentrant.ErrLost)
		must(t, a.all(t, name).Lock(ctx))
	})
}
