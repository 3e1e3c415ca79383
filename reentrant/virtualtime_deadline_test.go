package reentrant_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/reentrant"
)

// A caller asks two questions of the error: did I get the lock, and was it my own
// deadline. Both have an answer.
func TestTimeDeadlineEndsTheWait(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		must(t, v.client().NewLock("job").Lock(v.ctx))
		c := v.client()
		l := c.NewLock("job")
		for what, wait := range map[string]func(ctx context.Context) error{
			"Lock":      l.Lock,
			"LockLease": func(ctx context.Context) error { return l.LockLease(ctx, time.Minute) },
			"TryLock":   func(ctx context.Context) error { return locktest.Tried(l.TryLock(ctx, time.Hour, 0)) },
			"Acquire":   func(ctx context.Context) error { _, err := l.Acquire(ctx); return err },
			"Do": func(ctx context.Context) error {
				return l.Do(ctx, func(context.Context) error { t.Error("called without the lock"); return nil })
			},
		} {
			ctx, cancel := context.WithTimeout(v.ctx, 1500*time.Millisecond)
			began := time.Now()
			err := wait(ctx)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, reentrant.ErrNotAcquired) {
				t.Errorf("%s: %v", what, err)
			}
			if got := time.Since(began); got != 1500*time.Millisecond {
				t.Errorf("%s ended after %v", what, got)
			}
			var busy *reentrant.NotAcquiredError
			if !errors.As(err, &busy) || busy.Waited != 1500*time.Millisecond || busy.Name != "job" || busy.Holder == "" {
				t.Errorf("%s: %#v", what, busy)
			}
		}
		if s := c.Stats(); s.Waiting != 0 || s.Held != 0 {
			t.Fatalf("stats %+v", s)
		}
	})
}

var errShutdown = errors.New("the service shuts down")

// The reason that the caller gave for ending its ctx is the reason it is told.
func TestTimeCauseIsPreserved(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		must(t, v.client().NewLock("job").Lock(v.ctx))
		l := v.client().NewLock("job")

		ctx, cancel := context.WithTimeoutCause(v.ctx, time.Second, errShutdown)
		defer cancel()
		if err := l.Lock(ctx); !errors.Is(err, errShutdown) || !errors.Is(err, reentrant.ErrNotAcquired) {
			t.Errorf("at the deadline: %v", err)
		}
		if err := l.Lock(ctx); !errors.Is(err, errShutdown) || !errors.Is(err, reentrant.ErrNotAcquired) {
			t.Errorf("after the deadline: %v", err)
		}
		if _, err := l.IsLocked(ctx); !errors.Is(err, errShutdown) {
			t.Errorf("a query: %v", err)
		}

		cancelled, stop := context.WithCancelCause(v.ctx)
		waiter := begin(func() error { return l.Lock(cancelled) })
		v.pass(time.Second)
		stop(errShutdown)
		if err := waiter.wait(); !errors.Is(err, errShutdown) {
			t.Errorf("cancelled: %v", err)
		}
	})
}

// A ctx that has ended takes no lock, not even a free one, and sends nothing.
func TestTimeEndedContextTakesNothing(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client().NewLock("job")
		ctx, cancel := context.WithCancel(v.ctx)
		cancel()
		v.scripts()
		if err := l.Lock(ctx); !errors.Is(err, context.Canceled) || !errors.Is(err, reentrant.ErrNotAcquired) {
			t.Errorf("Lock: %v", err)
		}
		if ok, err := l.TryLock(ctx, time.Second, 0); ok || !errors.Is(err, context.Canceled) {
			t.Errorf("TryLock: %v, %v", ok, err)
		}
		if n := v.scripts(); n != 0 || v.mini.Exists("job") {
			t.Errorf("%d scripts sent", n)
		}
	})
}

// The deadline holds also while Redis says nothing, and what it says later is given
// back.
func TestTimeDeadlineHoldsWhileRedisIsSilent(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		must(t, v.client().NewLock("warm").Lock(v.ctx))
		c := v.client()
		l := c.NewLock("job")
		v.onCommand(func(cmd string, args []string) string {
			if cmd == "EVALSHA" && len(args) > 2 && args[2] == "job" {
				time.Sleep(300 * time.Millisecond)
			}
			return ""
		})
		ctx, cancel := context.WithTimeout(v.ctx, 100*time.Millisecond)
		defer cancel()
		began := time.Now()
		err := l.Lock(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 100*time.Millisecond {
			t.Fatalf("%v after %v", err, time.Since(began))
		}
		began = time.Now()
		ok, err := l.TryLock(v.ctx, 50*time.Millisecond, 0)
		if ok || time.Since(began) != 50*time.Millisecond {
			t.Fatalf("TryLock = %v, %v after %v", ok, err, time.Since(began))
		}
		v.pass(time.Second)
		if v.mini.Exists("job") || c.Stats().Held != 0 {
			t.Fatal("a grant that came after the call is still held")
		}
	})
}
