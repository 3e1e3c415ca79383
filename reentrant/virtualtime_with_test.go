package reentrant_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// With changes what acquisitions want, and not which lock it is: Lock on one and Unlock on the other.
func TestWithIsTheSameLock(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		l := c.NewLock("a")
		short := l.With(reentrant.WithFixedLease(300*time.Millisecond), reentrant.WithWait(time.Second))
		must(t, short.Lock(v.ctx))
		if left := v.ttl("a"); left != 300*time.Millisecond {
			t.Errorf("the lease is %v", left)
		}
		must(t, l.Lock(v.ctx)) // renewed from now on
		must(t, l.Unlock(v.ctx))
		must(t, short.Unlock(v.ctx))
		wants(t, l.Unlock(v.ctx), reentrant.ErrNotHeld)
		if l.Name() != short.Name() || short.With() == short {
			t.Error("not a copy of the same name")
		}
		must(t, short.Do(v.ctx, func(ctx context.Context) error {
			if n, err := l.HoldCount(ctx); n != 1 || err != nil {
				t.Errorf("held %d times, %v", n, err)
			}
			return l.Do(ctx, func(context.Context) error { return nil })
		}))
	})
}

// The wait is limited for each method that is not told another.
func TestWithWait(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		l := c.NewLock("a")
		must(t, l.Lock(owner(v.ctx, "somebody")))
		patient := l.With(reentrant.WithWait(200 * time.Millisecond))
		for what, call := range map[string]struct {
			f    func() error
			wait time.Duration
		}{
			"Lock":                   {func() error { return patient.Lock(v.ctx) }, 200},
			"LockLease":              {func() error { return patient.LockLease(v.ctx, time.Second) }, 200},
			"Do":                     {func() error { return patient.Do(v.ctx, nil) }, 200},
			"Acquire":                {func() error { _, err := patient.Acquire(v.ctx); return err }, 200},
			"Acquire with an option": {func() error { _, err := patient.Acquire(v.ctx, reentrant.WithWait(50*time.Millisecond)); return err }, 50},
			"With on top":            {func() error { return patient.With(reentrant.WithWait(70 * time.Millisecond)).Lock(v.ctx) }, 70},
		} {
			began := time.Now()
			wants(t, call.f(), reentrant.ErrNotAcquired)
			if waited := time.Since(began); waited != call.wait*time.Millisecond {
				t.Errorf("%s waited for %v", what, waited)
			}
		}
		began := time.Now()
		if ok, err := patient.TryLock(v.ctx, 10*time.Millisecond, 0); ok || err != nil || time.Since(began) != 10*time.Millisecond {
			t.Errorf("TryLock: %v, %v after %v", ok, err, time.Since(began))
		}
		must(t, l.Unlock(owner(v.ctx, "somebody")))
	})
}

// The fixed lease is that of each method that is not told another.
func TestWithFixedLease(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		l := c.NewLock("a").With(reentrant.WithFixedLease(5 * time.Second))
		wantLease := func(want time.Duration) {
			t.Helper()
			if left := v.ttl("a"); left != want {
				t.Errorf("the lease is %v, want %v", left, want)
			}
			must(t, l.Unlock(v.ctx))
		}
		must(t, l.Lock(v.ctx))
		wantLease(5 * time.Second)
		must(t, l.LockLease(v.ctx, 3*time.Second))
		wantLease(3 * time.Second)
		for _, lease := range []time.Duration{5, 2} {
			explicit := lease * time.Second
			if lease == 5 {
				explicit = 0
			}
			if ok, err := l.TryLock(v.ctx, 0, explicit); !ok || err != nil {
				t.Fatal(ok, err)
			}
			wantLease(lease * time.Second)
		}
	})
}

// An option that is not allowed is the error of every method, and nothing is sent.
func TestWithInvalid(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		l := c.NewLock("a").With(reentrant.WithFixedLease(-1)).With(reentrant.WithFixedLease(time.Second))
		wants(t, l.Lock(v.ctx), reentrant.ErrInvalidLease)
		wants(t, l.Unlock(v.ctx), reentrant.ErrInvalidLease)
		wants(t, l.Do(v.ctx, nil), reentrant.ErrInvalidLease)
		_, err := l.TryLock(v.ctx, 0, 0)
		wants(t, err, reentrant.ErrInvalidLease)
		_, err = l.IsLocked(v.ctx)
		wants(t, err, reentrant.ErrInvalidLease)
	})
}
