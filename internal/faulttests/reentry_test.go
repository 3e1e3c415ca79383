package faulttests

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/reentrant"
)

// A fixed lease ends while a re-entry with a long one is without an answer. The
// re-entry is refused, and the lease that it has left in Redis is nobody's.
func TestFaultReentryOutlivesItsHold(t *testing.T) {
	t.Parallel()
	r := newFaultRig(t).warm(t)
	c := faultClient(t, r.through(t, locktest.Impatience(600*time.Millisecond)))
	l, ctx := c.NewLock("l"), owner(t.Context(), "me")
	must(t, l.LockLease(ctx, 300*time.Millisecond))
	r.proxy.Add(faultproxy.Rule{Match: scriptIs("count"), Times: 1, Action: faultproxy.SwallowReply})
	wants(t, l.LockLease(ctx, time.Minute), reentrant.ErrLost)
	locktest.FreeWithin(t, r.Server, 5*time.Second, "l")
}

// The limit of TryLock holds for a re-entry too while Redis is silent, also if the
// ctx never ends; the count is put right afterwards.
func TestFaultReentryKeepsToItsLimit(t *testing.T) {
	t.Parallel()
	r := newFaultRig(t).warm(t)
	c := faultClient(t, r.through(t, locktest.Impatience(700*time.Millisecond)))
	l := c.NewLock("l")
	for _, ctx := range []context.Context{owner(t.Context(), "me"), owner(context.Background(), "me")} {
		hold, err := l.Acquire(ctx)
		must(t, err)
		silent := r.proxy.Add(faultproxy.Rule{Match: scriptIs("count"), Times: 1, Action: faultproxy.SwallowReply})
		began := time.Now()
		ok, err := l.TryLock(ctx, 100*time.Millisecond, 0)
		if d := time.Since(began); ok || d > 500*time.Millisecond {
			t.Errorf("TryLock(100ms) = %v, %v after %v", ok, err, d)
		}
		wants(t, err, reentrant.ErrNotAcquired)
		must(t, hold.Release(ctx))
		locktest.FreeWithin(t, r.Server, 5*time.Second, "l")
		silent.Remove()
	}
}
