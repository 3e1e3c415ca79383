package faulttests

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// A nested call leaves while its command, which makes the lease longer, is on the
// way. When the outer hold runs out, the key must not stay for the longer lease:
// nobody has a hold that reaches so far.
func TestFaultLeaseExtendedForNobody(t *testing.T) {
	t.Parallel()
	r := newFaultRig(t).warm(t)
	c := faultClient(t, r.through(t))
	l, ctx := c.NewLock("l"), owner(t.Context(), "me")
	hold, err := l.Acquire(ctx, reentrant.WithFixedLease(2*time.Second))
	must(t, err)
	slow := r.stall("count")
	nested := func(ctx context.Context) error { return l.LockLease(ctx, time.Minute) }
	wants(t, leave(t, slow, nested), reentrant.ErrNotAcquired)
	slow.Resume()
	locktest.InTime(t, 20*time.Second, "the loss", hold.Lost())
	locktest.FreeWithin(t, r.Server, 20*time.Second, "l")
}

// Who unlocks without a confirmation is told when the lock is free at the latest.
// It must be no sooner than the key's own end.
func TestFaultFreeAfter(t *testing.T) {
	t.Parallel()
	const lease = 5 * time.Second
	for _, c := range []struct {
		name string
		take func(ctx context.Context, l *reentrant.Lock) error
		lose string // the script whose answers are lost before the unlock
	}{
		{"fixed lease", func(ctx context.Context, l *reentrant.Lock) error { return l.LockLease(ctx, time.Hour) }, ""},
		{"renewed without an answer", func(ctx context.Context, l *reentrant.Lock) error { return l.Lock(ctx) }, "renew"},
		{"late acquire", func(ctx context.Context, l *reentrant.Lock) error { return l.LockLease(ctx, 2*time.Second) }, "acquire"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newFaultRig(t).warm(t)
			client := faultClient(t, r.through(t), reentrant.WithLease(lease))
			l, ctx := client.NewLock("l"), owner(t.Context(), "me")
			switch c.lose {
			case "acquire": // it counts from when it runs, long after it was sent
				r.proxy.Add(faultproxy.Rule{Match: scriptIs("acquire"), Action: faultproxy.Delay(400 * time.Millisecond)})
			}
			must(t, c.take(ctx, l))
			if c.lose == "renew" {
				redistest.Eventually(t, 10*time.Second, "the script is known", func() bool { return client.Stats().Renewals > 0 })
				r.proxy.Add(faultproxy.Rule{Match: scriptIs("renew"), Action: faultproxy.DropAfter})
				redistest.Eventually(t, 10*time.Second, "renewals were lost", func() bool { return client.Stats().RenewFailures > 1 })
			}
			r.proxy.Add(faultproxy.Rule{Match: scriptIs("release"), Action: faultproxy.DropBefore})
			before := time.Duration(r.Do(t, "PTTL", "l").(int64)) * time.Millisecond
			asked := time.Now()
			var unconfirmed *reentrant.UnconfirmedError
			if err := l.Unlock(ctx); !errors.As(err, &unconfirmed) {
				t.Fatalf("Unlock: %v", err)
			}
			if left := before - time.Since(asked); unconfirmed.FreeAfter < left {
				t.Errorf("free after %v, but the key lives for %v", unconfirmed.FreeAfter, left)
			}
		})
	}
}

// A nested Lock with a long lease is under way when the lock is released, and Redis answers
// neither: FreeAfter reckons with the lease that the first has asked for.
func TestFaultFreeAfterWithReentryUnderWay(t *testing.T) {
	t.Parallel()
	r := newFaultRig(t).warm(t)
	l := faultClient(t, r.through(t)).NewLock("l")
	me := owner(t.Context(), "me")
	must(t, l.Lock(me))
	r.proxy.Blackhole(false, true, faultproxy.Any)
	defer r.proxy.Heal()
	brief := func() context.Context {
		ctx, cancel := context.WithTimeout(me, 200*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	wants(t, l.LockLease(brief(), time.Hour), reentrant.ErrNotAcquired)
	var unconfirmed *reentrant.UnconfirmedError
	if err := l.Unlock(brief()); !errors.As(err, &unconfirmed) {
		t.Fatalf("Unlock: %v", err)
	}
	if ttl := time.Duration(r.Do(t, "PTTL", "l").(int64)) * time.Millisecond; ttl > unconfirmed.FreeAfter {
		t.Errorf("free after %v, but the key lives for %v", unconfirmed.FreeAfter, ttl)
	}
}
