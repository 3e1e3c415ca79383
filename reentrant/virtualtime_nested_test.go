package reentrant_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// The inner call's short lease must not become that of the outer hold.
func TestTimeFixedInsideRenewed(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		l := c.NewLock("job")
		must(t, l.Lock(v.ctx))
		v.pass(100 * time.Millisecond)
		before := v.ttl("job")
		must(t, l.LockLease(v.ctx, 200*time.Millisecond))
		if after := v.ttl("job"); after < before {
			t.Fatalf("the inner lease shortened the TTL from %v to %v", before, after)
		}
		alive := func(d time.Duration) {
			t.Helper()
			for began := time.Now(); time.Since(began) < d; time.Sleep(50 * time.Millisecond) {
				if v.ttl("job") < lease/2 {
					t.Fatalf("%v are left", v.ttl("job"))
				}
			}
		}
		alive(5 * time.Second)
		must(t, l.Unlock(v.ctx))
		alive(5 * time.Second)
		must(t, l.Unlock(v.ctx))
		if v.mini.Exists("job") || c.Stats().Losses != 0 {
			t.Fatalf("stats %+v", c.Stats())
		}
	})
}

// The inner hold is renewed as it asked, and the outer one, which did not ask,
// ends once the inner one is released.
func TestTimeRenewedInsideFixed(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		l := c.NewLock("job")
		must(t, l.LockLease(v.ctx, 3*lease))
		must(t, l.Lock(v.ctx))
		for began := time.Now(); time.Since(began) < 10*lease; time.Sleep(50 * time.Millisecond) {
			if v.ttl("job") < lease/2 {
				t.Fatalf("%v are left after %v", v.ttl("job"), time.Since(began))
			}
		}
		must(t, l.Unlock(v.ctx))
		renewals, left := c.Stats().Renewals, v.ttl("job")
		if left > lease {
			t.Fatalf("%v are left, more than a renewal gives", left)
		}
		v.pass(left)
		if v.mini.Exists("job") || c.Stats().Renewals != renewals {
			t.Fatal("renewed after the hold that asked for it had ended")
		}
		if err := l.Unlock(v.ctx); !errors.Is(err, reentrant.ErrLost) {
			t.Fatalf("Unlock: %v, want ErrLost", err)
		}
	})
}

// Redisson's watchdog cuts an hour to 30 s at its next round.
func TestTimeRenewalKeepsALongerLease(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		l := c.NewLock("job")
		began := time.Now()
		must(t, l.Lock(v.ctx))
		h, err := l.Acquire(v.ctx, reentrant.WithFixedLease(time.Hour))
		must(t, err)
		v.pass(5 * lease)
		if left := v.ttl("job"); left != time.Hour-5*lease {
			t.Fatalf("%v are left of the hour after 5 s", left)
		}
		if got := h.ValidUntil().Sub(began); got != trusted(time.Hour) {
			t.Fatalf("valid for %v, want %v", got, trusted(time.Hour))
		}
		must(t, h.Release(v.ctx))
		if left := v.ttl("job"); left != time.Hour-5*lease {
			t.Fatalf("%v are left after the inner release", left)
		}
		must(t, l.Unlock(v.ctx))
		if v.mini.Exists("job") {
			t.Fatal("still there after Unlock")
		}
	})
}

// Handles are released in any order: each takes away what it brought, so the
// renewal lasts as long as a hold that wants it.
func TestTimeHandlesReleasedOutOfOrder(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		l := c.NewLock("job")
		renewed, err := l.Acquire(v.ctx)
		must(t, err)
		fixed, err := l.Acquire(renewed.Context(), reentrant.WithFixedLease(2*lease))
		must(t, err)
		must(t, renewed.Release(v.ctx)) // the outer one first
		v.pass(trusted(2*lease) - time.Millisecond)
		if ended(fixed.Lost()) {
			t.Fatal("the fixed hold was lost with the release of the other")
		}
		v.pass(2 * time.Millisecond)
		if !ended(fixed.Lost()) {
			t.Fatal("the fixed hold is renewed after the renewed one was released")
		}

		fixed, err = l.Acquire(v.ctx, reentrant.WithFixedLease(2*lease))
		must(t, err)
		renewed, err = l.Acquire(fixed.Context())
		must(t, err)
		must(t, fixed.Release(v.ctx))
		v.pass(time.Minute)
		if ended(renewed.Lost()) {
			t.Fatal("the renewed hold ended with the fixed one")
		}
		must(t, renewed.Release(v.ctx))
	})
}
