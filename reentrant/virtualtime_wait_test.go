package reentrant_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/reentrant"
)

// The limit of the wait is the limit of the call, to the instant.
func TestTimeTryLockGivesUpAtItsLimit(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		must(t, v.client().NewLock("job").Lock(v.ctx))
		c := v.client()
		l := c.NewLock("job")
		for _, wait := range []time.Duration{time.Millisecond, 50 * time.Millisecond, 3 * time.Second, time.Minute} {
			began := time.Now()
			ok, err := l.TryLock(v.ctx, wait, 0)
			if ok || err != nil {
				t.Fatalf("TryLock(%v) = %v, %v", wait, ok, err)
			}
			if got := time.Since(began); got != wait {
				t.Fatalf("TryLock(%v) took %v", wait, got)
			}
		}
		began := time.Now()
		_, err := l.Acquire(v.ctx, reentrant.WithWait(3*time.Second))
		var busy *reentrant.NotAcquiredError
		if !errors.As(err, &busy) || !errors.Is(err, reentrant.ErrNotAcquired) {
			t.Fatalf("Acquire: %v", err)
		}
		if busy.Waited != 3*time.Second || time.Since(began) != busy.Waited || busy.Err != nil ||
			busy.Holder == "" || busy.TTL <= 0 || busy.TTL > lease {
			t.Fatalf("%#v", busy)
		}
		synctest.Wait()
		if s := c.Stats(); s.Waiting != 0 || s.Held != 0 || s.Acquired != 0 {
			t.Fatalf("stats %+v", s)
		}
	})
}

// In one Client too, where a waiter behind the head never talks to Redis.
func TestTimeTryLockGivesUpBehindOthers(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client().NewLock("job")
		must(t, l.Lock(v.ctx))
		first := begin(func() error { return locktest.Tried(l.TryLock(v.ctx, 5*time.Second, 0)) })
		v.pass(time.Second)
		began := time.Now()
		second := begin(func() error { return locktest.Tried(l.TryLock(v.ctx, 2*time.Second, 0)) })
		if err := second.wait(); !errors.Is(err, reentrant.ErrNotAcquired) || second.at.Sub(began) != 2*time.Second {
			t.Fatalf("%v after %v", err, second.at.Sub(began))
		}
		must(t, l.Unlock(v.ctx))
		released := time.Now()
		if err := first.wait(); err != nil || first.at.Sub(released) > time.Millisecond {
			t.Fatalf("%v, %v after the release", err, first.at.Sub(released))
		}
	})
}

// A waiter in another process is woken by the release and not by the end of the
// holder's lease.
func TestTimeWaiterIsWokenByTheRelease(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		holder := v.client(reentrant.WithLease(30 * time.Second)).NewLock("job")
		must(t, holder.Lock(v.ctx))
		c := v.client()
		l := c.NewLock("job")
		waiter := begin(func() error { return locktest.Tried(l.TryLock(v.ctx, time.Minute, 0)) })
		v.pass(700 * time.Millisecond)
		must(t, holder.Unlock(v.ctx))
		released := time.Now()
		must(t, waiter.wait())
		if late := waiter.at.Sub(released); late > 5*time.Millisecond {
			t.Fatalf("%v after the release", late)
		}
		if s := c.Stats(); s.WakeUps.Message != 1 || s.Waiting != 0 {
			t.Fatalf("stats %+v", s)
		}
	})
}

// No wait is one question to Redis and one answer, and nothing left behind: no
// subscription, no place in the registry of waiters.
func TestTimeNoWaitIsOneAttempt(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		must(t, v.client().NewLock("job").Lock(v.ctx))
		c := v.client()
		l := c.NewLock("job")
		for _, wait := range []time.Duration{0, -1, -time.Hour} {
			v.scripts()
			began := time.Now()
			ok, err := l.TryLock(v.ctx, wait, 0)
			if ok || err != nil || time.Since(began) != 0 {
				t.Fatalf("TryLock(%v) = %v, %v after %v", wait, ok, err, time.Since(began))
			}
			synctest.Wait()
			if n := v.scripts(); n != 1 {
				t.Fatalf("TryLock(%v) sent %d scripts, want 1", wait, n)
			}
		}
		if c.Stats().Subscriptions != 0 || len(v.mini.PubSubChannels("*")) != 0 || v.mini.Exists("redlatch_waiters:{job}") {
			t.Fatalf("left behind: %+v, keys %q", c.Stats(), v.mini.Keys())
		}
	})
}

// Where the Client itself knows the answer nothing is sent.
func TestTimeNoWaitInTheHoldersClient(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client().NewLock("job")
		must(t, l.Lock(v.ctx))
		v.scripts()
		elsewhere(func() {
			if ok, err := l.TryLock(v.ctx, 0, 0); ok || err != nil {
				t.Errorf("TryLock = %v, %v", ok, err)
			}
		})
		if n := v.scripts(); n != 0 {
			t.Fatalf("%d scripts sent", n)
		}
	})
}

// A ctx that ends ends the wait there and then, whoever is ahead.
func TestTimeCancelEndsTheWait(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		must(t, v.client().NewLock("job").Lock(v.ctx))
		l := v.client().NewLock("job")
		ctx, cancel := context.WithCancel(v.ctx)
		var waiters []*pending
		for range 3 {
			waiters = append(waiters, begin(func() error { return l.Lock(ctx) }))
		}
		v.pass(time.Second)
		cancel()
		cancelled := time.Now()
		for _, w := range waiters {
			err := w.wait()
			if !errors.Is(err, context.Canceled) || !errors.Is(err, reentrant.ErrNotAcquired) || !w.at.Equal(cancelled) {
				t.Fatalf("%v, %v after the cancellation", err, w.at.Sub(cancelled))
			}
		}
	})
}
