package redlatchtest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// everywhere runs a test inside a bubble and outside, each beside other tests.
func everywhere(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	t.Run("bubble", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, f)
	})
	t.Run("wall clock", func(t *testing.T) {
		t.Parallel()
		f(t)
	})
}

// brief is a lease that ends within a test by the wall clock.
var brief = reentrant.WithLease(time.Second)

// told is a test that notes of what it is told that is wrong.
type told struct {
	testing.TB
	wrong    []string
	cleanups []func()
}

func (s *told) Errorf(format string, args ...any) {
	s.wrong = append(s.wrong, fmt.Sprintf(format, args...))
}

func (s *told) Fatalf(format string, args ...any) {
	s.Errorf(format, args...)
	runtime.Goexit()
}

func (s *told) Cleanup(f func()) { s.cleanups = append(s.cleanups, f) }

// whatIsWrong plays a test to its end, and returns what it was told.
func whatIsWrong(t testing.TB, f func(t testing.TB)) string {
	s := &told{TB: t}
	done := make(chan struct{})
	go func() { // as Fatalf ends its goroutine
		defer close(done)
		f(s)
	}()
	<-done
	for i := len(s.cleanups) - 1; i >= 0; i-- {
		s.cleanups[i]()
	}
	return strings.Join(s.wrong, "; ")
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestHoldByAnother(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		r := New(t)
		lock := r.Client().NewLock("order:42")
		release := r.HoldByAnother("order:42")
		RequireHeld(t, lock)
		if ok, err := lock.TryLock(t.Context(), 10*time.Millisecond, 0); ok || err != nil {
			t.Fatalf("TryLock: %v, %v, want busy", ok, err)
		}
		waiter := make(chan error)
		go func() { waiter <- lock.Do(t.Context(), func(context.Context) error { return nil }) }()
		release()
		must(t, <-waiter)
		release()
		RequireFree(t, lock)
	})
}

// The other process keeps the lock for as long as the test likes, whatever happens to the Clients' Redis.
func TestAnotherIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(t)
		lock := r.Client().NewLock("order:42")
		defer r.HoldByAnother("order:42")()
		r.Silence()
		time.Sleep(time.Hour)
		r.Answer()
		if ok, err := lock.TryLock(t.Context(), 0, 0); ok || err != nil {
			t.Errorf("TryLock: %v, %v, want busy", ok, err)
		}
	})
}

func TestHoldByAnotherOfBusyLock(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		got := whatIsWrong(t, func(t testing.TB) {
			r := New(t)
			defer r.HoldByAnother("order:42")()
			r.HoldByAnother("order:42")
		})
		if !strings.Contains(got, `cannot take lock "order:42": redlatch: lock "order:42" is busy`) {
			t.Errorf("the test is told %q", got)
		}
	})
}

func TestLose(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		r := New(t)
		err := r.Client(brief).NewLock("order:42").Do(t.Context(), func(ctx context.Context) error {
			r.Lose("order:42")
			<-ctx.Done()
			return nil
		})
		if !errors.Is(err, reentrant.ErrLost) {
			t.Errorf("got %v, want ErrLost", err)
		}
	})
}

// The holder is told at its next renewal, after a third of the lease.
func TestLoseIsToldAtRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(t)
		hold, err := r.Client(reentrant.WithLease(time.Hour)).NewLock("order:42").Acquire(t.Context())
		must(t, err)
		start := time.Now()
		r.Lose("order:42")
		<-hold.Lost()
		err = hold.Release(t.Context())
		if lost := new(reentrant.LostError); !errors.As(err, &lost) || lost.Reason != reentrant.Overridden || time.Since(start) > 20*time.Minute {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestLoseOfFreeLock(t *testing.T) {
	t.Parallel()
	if got := whatIsWrong(t, func(t testing.TB) { New(t).Lose("order:42") }); !strings.Contains(got, "nobody holds it") {
		t.Errorf("the test is told %q", got)
	}
}

func TestRequire(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		var lock *reentrant.Lock
		got := whatIsWrong(t, func(t testing.TB) {
			lock = New(t).Client().NewLock("order:42")
			RequireFree(t, lock)
			RequireHeld(t, lock)
		})
		if got != "redlatchtest: a lock is not held: order:42: free" {
			t.Errorf("RequireHeld of a free lock: %q", got)
		}
		got = whatIsWrong(t, func(t testing.TB) {
			r := New(t)
			r.HoldByAnother("order:42")
			RequireFree(t, r.Client().NewLock("order:42"))
		})
		if !strings.HasPrefix(got, "redlatchtest: a lock is not free: order:42: held by") {
			t.Errorf("RequireFree of a lock that is held: %q", got)
		}
		got = whatIsWrong(t, func(t testing.TB) { RequireFree(t, lock) })
		if !strings.Contains(got, `looking at lock "order:42"`) {
			t.Errorf("RequireFree of a lock of a closed Client: %q", got)
		}
	})
}
