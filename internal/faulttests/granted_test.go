package faulttests

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/worker"
	"github.com/redlatch/redlatch/reentrant"
)

// A waiting process is stopped, and a release grants it the lock. Its connection is open, so Redis counts it as a
// receiver. The lock stands for the claim; then the next waiter has it by its poll. When the process goes on, the
// message of the grant is the first thing it reads: it is too late, and the process waits on.
func TestFault06StoppedProcessIsGranted(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := faultClient(t, s.Client(t))
	l, ctx := c.NewLock("l", reentrant.WithFencing()), owner(t.Context(), "here")
	stopped := worker.Start(t, worker.Spec{Redis: s.Addr(), Lock: "l", Lease: 30 * time.Second})
	if err := l.Lock(ctx); err != nil {
		t.Fatal(err)
	}
	stopped.Send(worker.Step{Verb: worker.Lock})
	redistest.Eventually(t, 10*time.Second, "the process is registered", func() bool {
		return s.Do(t, "ZCARD", "redlatch_waiters:{l}").(int64) == 1
	})
	stopped.Stop()
	if err := l.Unlock(ctx); err != nil {
		t.Fatal(err)
	}
	if report, err := c.Inspect(ctx, "l"); err != nil || !report.Held || report.TTL > 3*time.Second {
		t.Fatalf("%+v, %v: the process was not granted the lock", report, err)
	}
	if err := l.Lock(ctx); err != nil {
		t.Fatal(err)
	}
	stopped.Continue()
	redistest.Eventually(t, 10*time.Second, "the process is registered again", func() bool {
		return s.Do(t, "ZCARD", "redlatch_waiters:{l}").(int64) == 1
	})
	if held, err := l.IsHeld(ctx); err != nil || !held {
		t.Fatalf("%v, %v: the process took the lock that is held here", held, err)
	}
	if err := l.Unlock(ctx); err != nil {
		t.Fatal(err)
	}
	if r := stopped.Report(); r.Err != "" {
		t.Fatalf("%+v", r)
	}
	stopped.Do(worker.Unlock)
	locktest.FreeWithin(t, s, 10*time.Second, "l")
}
