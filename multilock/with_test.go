package multilock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// With changes what acquisitions want, and not which lock it is. The members' own defaults do not count.
func TestWith(t *testing.T) {
	inVirtualTime(t, 2, func(t *testing.T, v *virtual) {
		var members []multilock.Locker
		for _, c := range v.process() {
			members = append(members, c.NewLock(name).With(reentrant.WithFixedLease(7*time.Second)))
		}
		l := allOf(t, members...)
		must(t, l.Lock(v.ctx))
		if left := v.s[0].TTL(name); left != lease {
			t.Errorf("the lease is %v", left)
		}
		short := l.With(reentrant.WithWait(200 * time.Millisecond)).With(reentrant.WithFixedLease(3 * time.Second))
		elsewhere(func() {
			began := time.Now()
			wants(t, short.Do(v.ctx, nil), reentrant.ErrNotAcquired)
			wants(t, short.Lock(v.ctx), reentrant.ErrNotAcquired)
			if waited := time.Since(began); waited != 400*time.Millisecond {
				t.Errorf("two calls waited for %v", waited)
			}
		})
		must(t, short.Unlock(v.ctx))
		must(t, short.Do(v.ctx, func(ctx context.Context) error {
			if left := v.s[0].TTL(name); left != 3*time.Second {
				t.Errorf("the lease is %v", left)
			}
			must(t, l.LockLease(ctx, 5*time.Second))
			return short.Unlock(ctx)
		}))
		wants(t, l.Unlock(v.ctx), reentrant.ErrNotHeld)
		bad := l.With(reentrant.WithFixedLease(-1))
		wants(t, bad.Lock(v.ctx), reentrant.ErrInvalidLease)
		wants(t, bad.Unlock(v.ctx), reentrant.ErrInvalidLease)
		wants(t, new(multilock.MultiLock).Unlock(v.ctx), reentrant.ErrNotHeld)
	})
}
