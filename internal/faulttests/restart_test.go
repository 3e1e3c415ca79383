package faulttests

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// Redis dies and comes back with nothing: the holder hears of it by its next
// renewal, and does not make the lock anew; whoever waits gets it, with a higher token
// though the counter is gone.
func TestFault01RestartEmpty(t *testing.T) {
	t.Parallel()
	const lease = 6 * time.Second
	s := redistest.Start(t)
	c := faultClient(t, s.Client(t), reentrant.WithLease(lease))
	d := faultClient(t, s.Client(t), reentrant.WithLease(lease))
	ctx := owner(t.Context(), "me")
	hold, err := c.NewLock("l", reentrant.WithFencing()).Acquire(ctx)
	must(t, err)
	next := make(chan *reentrant.Hold, 1)
	go func() {
		hold, err := d.NewLock("l", reentrant.WithFencing()).Acquire(ctx)
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
	locktest.InTime(t, lease, "the loss", hold.Lost())
	if time.Now().After(hold.ValidUntil()) {
		t.Error("the loss was noticed by the clock, not by a renewal")
	}
	var lost *reentrant.LostError
	if cause := context.Cause(hold.Context()); !errors.As(cause, &lost) || lost.Reason != reentrant.Overridden {
		t.Errorf("the hold's ctx ended with %v", cause)
	}
	wants(t, hold.Release(ctx), reentrant.ErrLost)
	second := locktest.InTime(t, lease, "the waiter gets the lock", next)
	t.Logf("the waiter had the lock %v after the restart", time.Since(restarted))
	if second.Token() <= hold.Token() {
		t.Errorf("token %d after %d", second.Token(), hold.Token())
	}
	if got := locktest.Held(t, s, "l"); len(got) != 1 || got[second.Owner()] != "1" {
		t.Errorf("Redis has %v", got)
	}
	must(t, second.Release(ctx))
	locktest.TidyWithin(t, s, 10*time.Second, "l")
}

// Redis dies and comes back with its data, within the lease: nothing has happened. Also with
// the usual appendfsync everysec, as long as only the process dies and not the machine.
func TestFault02RestartWithAOF(t *testing.T) {
	t.Parallel()
	const lease = 6 * time.Second
	s := redistest.Start(t, redistest.WithConfig("appendonly yes", "appendfsync everysec"))
	c := faultClient(t, s.Client(t), reentrant.WithLease(lease))
	d := faultClient(t, s.Client(t), reentrant.WithLease(lease))
	l, ctx := c.NewLock("l"), owner(t.Context(), "me")
	hold, err := l.Acquire(ctx)
	must(t, err)
	must(t, l.Lock(ctx))
	waited := make(chan error, 1)
	go func() { waited <- d.NewLock("l").Lock(ctx) }()
	redistest.Eventually(t, 5*time.Second, "somebody waits, and all is written", func() bool {
		return s.Do(t, "ZCARD", "redlatch_waiters:{l}").(int64) == 1 && s.Info(t, "persistence", "aof_buffer_length") == "0"
	})
	s.Kill()
	down := time.NewTimer(500 * time.Millisecond)
	defer down.Stop()
	<-down.C
	s.Restart()
	if got := locktest.Held(t, s, "l"); got[hold.Owner()] != "2" {
		t.Fatalf("after the restart Redis has %v", got)
	}
	before := c.Stats().Renewals
	redistest.Eventually(t, lease, "it is renewed", func() bool { return c.Stats().Renewals > before })
	select {
	case err := <-waited:
		t.Errorf("the wait for a lock that is held has ended: %v", err)
	default:
	}
	must(t, l.Unlock(ctx))
	must(t, hold.Release(ctx))
	must(t, locktest.InTime(t, 10*time.Second, "the waiter has the lock", waited))
	must(t, d.NewLock("l").Unlock(ctx))
	if n := c.Stats().Losses; n > 0 {
		t.Errorf("%d losses", n)
	}
	locktest.TidyWithin(t, s, 10*time.Second, "l")
}
