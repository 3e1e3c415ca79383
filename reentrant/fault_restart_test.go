package reentrant_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// Redis dies and comes back with nothing: the holder hears of it by its next
// renewal, and does not make the lock anew; whoever waits gets it.
func TestFaultRestartEmpty(t *testing.T) {
	t.Parallel()
	const lease = 3 * time.Second
	s := redistest.Start(t)
	c := faultClient(t, s.Client(t), reentrant.WithLease(lease))
	d := faultClient(t, s.Client(t), reentrant.WithLease(lease))
	ctx := owner(t.Context(), "me")
	hold, err := c.NewLock("l").Acquire(ctx)
	okay(t, err)
	next := make(chan *reentrant.Hold, 1)
	go func() {
		hold, err := d.NewLock("l").Acquire(ctx)
		if err != nil {
			t.Errorf("the waiter: %v", err)
		}
		next <- hold
	}()
	redistest.Eventually(t, 5*time.Second, "somebody waits", func() bool {
		return s.Do(t, "ZCARD", "redlatch_waiters:{l}").(int64) == 1
	})
	s.Restart()
	restarted := time.Now()
	inTime(t, lease, "the loss", hold.Lost())
	if time.Now().After(hold.ValidUntil()) {
		t.Error("the loss was noticed by the clock, not by a renewal")
	}
	var lost *reentrant.LostError
	if cause := context.Cause(hold.Context()); !errors.As(cause, &lost) || lost.Reason != reentrant.Overridden {
		t.Errorf("the hold's ctx ended with %v", cause)
	}
	wants(t, hold.Release(ctx), reentrant.ErrLost)
	second := inTime(t, lease, "the waiter gets the lock", next)
	t.Logf("the waiter had the lock %v after the restart", time.Since(restarted))
	if got := heldOn(t, s, "l"); len(got) != 1 || got[second.Owner()] != "1" {
		t.Errorf("Redis has %v", got)
	}
	okay(t, second.Release(ctx))
	tidyWithin(t, s, 3*time.Second, "l")
}

// Redis dies and comes back with its data, within the lease: nothing has happened.
func TestFaultRestartWithAOF(t *testing.T) {
	t.Parallel()
	const lease = 3 * time.Second
	s := redistest.Start(t, redistest.WithAOF())
	c := faultClient(t, s.Client(t), reentrant.WithLease(lease))
	d := faultClient(t, s.Client(t), reentrant.WithLease(lease))
	l, ctx := c.NewLock("l"), owner(t.Context(), "me")
	hold, err := l.Acquire(ctx)
	okay(t, err)
	okay(t, l.Lock(ctx))
	s.Kill()
	down := time.NewTimer(500 * time.Millisecond)
	defer down.Stop()
	<-down.C
	s.Restart()
	if got := heldOn(t, s, "l"); got[hold.Owner()] != "2" {
		t.Fatalf("after the restart Redis has %v", got)
	}
	before := c.Stats().Renewals
	redistest.Eventually(t, lease, "it is renewed", func() bool { return c.Stats().Renewals > before })
	if ok, err := d.NewLock("l").TryLock(ctx, 0, 0); ok || err != nil {
		t.Errorf("TryLock of another client: %v, %v", ok, err)
	}
	okay(t, l.Unlock(ctx))
	okay(t, hold.Release(ctx))
	if n := c.Stats().Losses; n > 0 {
		t.Errorf("%d losses", n)
	}
	tidyWithin(t, s, 3*time.Second, "l")
}
