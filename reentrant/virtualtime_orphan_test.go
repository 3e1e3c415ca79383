package reentrant_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// A holder that dies publishes nothing. Its lease is what frees the lock, and the
// waiter must be there when it ends.
func TestTimeWaiterOutlivesAFixedLease(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		must(t, v.client().NewLock("job").LockLease(v.ctx, 3*time.Second))
		began := time.Now()
		c := v.client()
		must(t, c.NewLock("job").Lock(v.ctx))
		if got := time.Since(began); got < 3*time.Second || got > 3*time.Second+5*time.Millisecond {
			t.Fatalf("acquired after %v, want the lease of 3 s", got)
		}
		if s := c.Stats(); s.WakeUps.TTL == 0 || s.WakeUps.Message != 0 {
			t.Fatalf("stats %+v", s)
		}
	})
}

func TestTimeWaiterOutlivesADeadProcess(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		dead := v.client()
		must(t, dead.NewLock("job").Lock(v.ctx))
		waiter := begin(func() error { return v.client().NewLock("job").Lock(v.ctx) })
		v.pass(5 * lease)
		if waiter.over() {
			t.Fatal("two holders")
		}
		over, cancel := context.WithCancel(v.ctx)
		cancel()
		died := time.Now()
		if err := dead.Close(over); !errors.Is(err, context.Canceled) {
			t.Fatalf("Close: %v", err)
		}
		must(t, waiter.wait())
		if got := waiter.at.Sub(died); got < lease/2 || got > lease+5*time.Millisecond {
			t.Fatalf("acquired %v after the last renewal could have been", got)
		}
	})
}

// A key without a TTL, which another program left, can go without a message: the
// waiter looks again and again, at intervals that neither hammer Redis nor let it
// miss its chance for long.
func TestTimeHolderWithoutTTL(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		v.mini.HSet("job", "somebody:1", "1")
		l := v.client().NewLock("job")
		_, err := l.Acquire(v.ctx, reentrant.WithWait(time.Second))
		var busy *reentrant.NotAcquiredError
		if !errors.As(err, &busy) || busy.TTL >= 0 || busy.Holder != "somebody:1" {
			t.Fatalf("Acquire: %#v", err)
		}
		if left, err := l.TTL(v.ctx); left >= 0 || err != nil {
			t.Fatalf("TTL %v, %v, want a negative one", left, err)
		}
		waiter := begin(func() error { return l.Lock(v.ctx) })
		v.pass(time.Minute)
		v.scripts()
		v.pass(10 * time.Minute)
		if n := v.scripts(); n < 600/6 || n > 600/4 {
			t.Fatalf("%d attempts in 10 minutes, want one about each 5 s", n)
		}
		v.mini.Del("job")
		freed := time.Now()
		must(t, waiter.wait())
		if got := waiter.at.Sub(freed); got > 6*time.Second {
			t.Fatalf("found it free after %v", got)
		}
	})
}

// The wait ends in time even when the holder's lease is renewed for ever and no
// message ever comes.
func TestTimePollIsBounded(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		must(t, v.client(reentrant.WithLease(30*time.Second)).NewLock("job").Lock(v.ctx))
		c := v.client()
		waiter := begin(func() error { return c.NewLock("job").Lock(v.ctx) })
		v.pass(time.Minute)
		v.scripts()
		v.pass(10 * time.Minute)
		if n := v.scripts(); n > 600/4+600/10 { // the waiter's and the renewals
			t.Fatalf("%d scripts in 10 minutes of waiting", n)
		}
		v.mini.Del("job") // no release, no message; the holder finds out by itself
		freed := time.Now()
		must(t, waiter.wait())
		if got := waiter.at.Sub(freed); got > 6*time.Second {
			t.Fatalf("found it free after %v", got)
		}
	})
}
