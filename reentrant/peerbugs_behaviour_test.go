package reentrant_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/reentrant"
)

// What Redisson's own tests assert of its lock, seen from outside.

// queries checks what the calling owner is told of the lock.
func queries(t *testing.T, ctx context.Context, l *reentrant.Lock, locked bool, count int) {
	t.Helper()
	isLocked, err1 := l.IsLocked(ctx)
	isHeld, err2 := l.IsHeld(ctx)
	n, err3 := l.HoldCount(ctx)
	if err := errors.Join(err1, err2, err3); err != nil || isLocked != locked || isHeld != (count > 0) || n != count {
		t.Errorf("locked %v, held %v, count %d, %v; want %v and %d", isLocked, isHeld, n, err, locked, count)
	}
}

func TestBehaviour_01_02_LockedAndCounted(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		l := c.NewLock("job")
		for range 2 {
			queries(t, v.ctx, l, false, 0)
			for n := 1; n <= 2; n++ {
				if ok, err := l.TryLock(v.ctx, 0, 0); !ok || err != nil {
					t.Fatal(ok, err)
				}
				queries(t, v.ctx, l, true, n)
				elsewhere(func() { queries(t, v.ctx, l, true, 0) })
			}
			must(t, l.Unlock(v.ctx))
			queries(t, v.ctx, l, true, 1)
			for _, other := range []*reentrant.Client{c, v.client()} {
				elsewhere(func() {
					if ok, err := other.NewLock("job").TryLock(v.ctx, 0, 0); ok || err != nil {
						t.Errorf("TryLock of another = %v, %v", ok, err)
					}
				})
			}
			must(t, l.Unlock(v.ctx))
			queries(t, v.ctx, l, false, 0)
		}
	})
}

func TestBehaviour_03_InnerUnlockKeepsTheLease(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client(reentrant.WithLease(30 * time.Second)).NewLock("job")
		for range 3 {
			must(t, l.LockLease(v.ctx, 10*time.Second))
		}
		v.pass(100 * time.Millisecond)
		must(t, l.Unlock(v.ctx))
		must(t, l.Unlock(v.ctx))
		if left, err := l.TTL(v.ctx); left < 9*time.Second || left > 10*time.Second || err != nil {
			t.Fatalf("TTL %v, %v", left, err)
		}
		must(t, l.Unlock(v.ctx))
	})
}

func TestBehaviour_04_NoStaleLease(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client(reentrant.WithLease(30 * time.Second)).NewLock("job")
		for _, step := range []struct {
			lock func() error
			want time.Duration
		}{
			{func() error { return l.LockLease(v.ctx, time.Hour) }, time.Hour},
			{func() error { return l.Lock(v.ctx) }, 30 * time.Second},
			{func() error { return locktest.Tried(l.TryLock(v.ctx, 0, time.Minute)) }, time.Minute},
			{func() error { return locktest.Tried(l.TryLock(v.ctx, time.Second, 0)) }, 30 * time.Second},
		} {
			must(t, step.lock())
			if left, err := l.TTL(v.ctx); left != step.want || err != nil {
				t.Fatalf("TTL %v, %v, want %v", left, err, step.want)
			}
			must(t, l.Unlock(v.ctx))
			if left, err := l.TTL(v.ctx); left != 0 || err != nil {
				t.Fatalf("TTL %v, %v after Unlock", left, err)
			}
		}
	})
}

func TestBehaviour_05_ExpiryLetsTheNextIn(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		l := c.NewLock("job")
		must(t, l.LockLease(v.ctx, 2*time.Second))
		for _, other := range []*reentrant.Client{c, v.client()} {
			began := time.Now()
			elsewhere(func() {
				next := other.NewLock("job")
				if err := next.LockLease(v.ctx, 2*time.Second); err != nil {
					t.Error(err)
				}
			})
			if got := time.Since(began); got > 2020*time.Millisecond {
				t.Fatalf("acquired after %v", got)
			}
		}
		if err := l.Unlock(v.ctx); !errors.Is(err, reentrant.ErrLost) {
			t.Fatalf("Unlock: %v", err)
		}
	})
}

func TestBehaviour_08_09_OthersCannotUnlockButMayForce(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		l := c.NewLock("job")
		must(t, l.Lock(v.ctx))
		elsewhere(func() {
			queries(t, v.ctx, l, true, 0)
			if err := l.Unlock(v.ctx); !errors.Is(err, reentrant.ErrNotHeld) {
				t.Errorf("Unlock by another: %v", err)
			}
			queries(t, v.ctx, l, true, 0)
		})
		fresh := v.client().NewLock("job")
		for _, want := range []bool{true, false} {
			if freed, err := fresh.ForceUnlock(v.ctx); freed != want || err != nil {
				t.Fatalf("ForceUnlock = %v, %v, want %v", freed, err, want)
			}
		}
		queries(t, v.ctx, v.client().NewLock("job"), false, 0)
		if err := l.Unlock(v.ctx); !errors.Is(err, reentrant.ErrLost) {
			t.Fatalf("Unlock by the holder: %v", err)
		}
	})
}

func TestBehaviour_10_11_InterruptedWaits(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		holder := v.client(reentrant.WithLease(30 * time.Second)).NewLock("job")
		must(t, holder.Lock(v.ctx))
		c := v.client(reentrant.WithLease(30 * time.Second))
		ctx, interrupt := context.WithCancel(v.ctx)
		interrupted := begin(func() error { return locktest.Tried(c.NewLock("job").TryLock(ctx, time.Minute, 0)) })
		patient := begin(func() error { return c.NewLock("job").Do(v.ctx, func(context.Context) error { return nil }) })
		v.pass(time.Second)
		interrupt()
		if err := interrupted.wait(); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		v.pass(time.Second)
		if patient.over() {
			t.Fatalf("another's interruption ended a wait: %v", patient.err)
		}
		must(t, holder.Unlock(v.ctx))
		must(t, patient.wait())
		v.pass(45 * time.Second)
		if v.mini.Exists("job") || c.Stats().Held != 0 {
			t.Fatalf("held 45 s later: %v", v.fields("job"))
		}
	})
}

func TestBehaviour_20_AfterNestedHoldsTheNextIsRenewed(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		l := c.NewLock("job")
		elsewhere(func() {
			if err := errors.Join(l.Lock(v.ctx), l.Lock(v.ctx), l.Unlock(v.ctx), l.Unlock(v.ctx)); err != nil {
				t.Error(err)
			}
		})
		h, err := l.Acquire(v.ctx)
		must(t, err)
		v.pass(10 * lease)
		if ended(h.Lost()) || v.ttl("job") < lease/2 {
			t.Fatalf("%v left", v.ttl("job"))
		}
		must(t, h.Release(v.ctx))
	})
}
