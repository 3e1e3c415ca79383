package reentrant_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

func TestLedger_31_AFailedSubscriptionIsRepeated(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		holder := v.client(reentrant.WithLease(time.Hour)).NewLock("job")
		must(t, holder.Lock(v.ctx))
		v.onCommand(func(cmd string, _ []string) string {
			if cmd == "SUBSCRIBE" {
				return "ERR not now"
			}
			return ""
		})
		c := v.client()
		if ok, err := c.NewLock("job").TryLock(v.ctx, 10*time.Second, 0); ok || err != nil {
			t.Fatalf("TryLock = %v, %v", ok, err)
		}
		waiter := begin(func() error { return c.NewLock("job").Lock(v.ctx) })
		v.pass(10 * time.Second)
		v.onCommand(nil)
		v.pass(10 * time.Second)
		must(t, holder.Unlock(v.ctx))
		released := time.Now()
		must(t, waiter.wait())
		if late := waiter.at.Sub(released); late > 5*time.Millisecond || c.Stats().WakeUps.Message == 0 {
			t.Fatalf("%v after the release, %+v", late, c.Stats().WakeUps)
		}
	})
}

func TestLedger_32_WaitingWithoutMessages(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		holder := v.client(reentrant.WithLease(time.Hour)).NewLock("job")
		must(t, holder.Lock(v.ctx))
		v.onCommand(func(cmd string, _ []string) string {
			if cmd == "SUBSCRIBE" {
				return "NOPERM this user has no permissions to access one of the channels"
			}
			return ""
		})
		waiter := begin(func() error { return v.client().NewLock("job").Lock(v.ctx) })
		v.pass(time.Minute)
		must(t, holder.Unlock(v.ctx))
		released := time.Now()
		must(t, waiter.wait())
		if late := waiter.at.Sub(released); late > 2*time.Second {
			t.Fatalf("found %v after the release", late)
		}
	})
}

func TestLedger_33_RedisIsDown(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.unreachable().NewLock("job")
		for _, wait := range []time.Duration{time.Millisecond, 300 * time.Millisecond, 2 * time.Second} {
			began := time.Now()
			ok, err := l.TryLock(v.ctx, wait, 0)
			if ok || err == nil || time.Since(began) > wait {
				t.Fatalf("TryLock(%v) = %v, %v after %v", wait, ok, err, time.Since(began))
			}
		}
		began := time.Now()
		if err := l.Lock(v.ctx); !errors.Is(err, reentrant.ErrNotAcquired) || time.Since(began) > 30*time.Second {
			t.Fatalf("Lock: %v after %v", err, time.Since(began))
		}

		// It goes down while somebody waits who knows the lock to be held: by the
		// end of a lease whoever held it has lost it, and there is nothing to wait for.
		must(t, v.client().NewLock("job").Lock(v.ctx))
		waiter := begin(func() error { return v.client().NewLock("job").Lock(v.ctx) })
		v.pass(5 * lease)
		v.refuseAll(loading)
		down := time.Now()
		if err := waiter.wait(); !errors.Is(err, reentrant.ErrNotAcquired) || waiter.at.Sub(down) > 7*time.Second {
			t.Fatalf("Lock: %v, %v after Redis was gone", err, waiter.at.Sub(down))
		}
	})
}
