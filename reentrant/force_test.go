package reentrant_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// A waiter of the same Client hears that the lock is free before ForceUnlock has its answer. It
// waits for that, and its hold was not taken from anybody.
func TestForceUnlockSparesTheNextHold(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	must(t, newClient(t, s.Client(t)).NewLock("l").Lock(t.Context()))
	rdb := s.Client(t)
	late := locktest.LateAnswer{Script: "force", Released: make(chan struct{})}
	rdb.AddHook(late)
	c := newClient(t, rdb)
	got := make(chan *reentrant.Hold, 1)
	go func() {
		h, err := c.NewLock("l").Acquire(owner(t.Context(), "me"))
		if err != nil {
			t.Error(err)
		}
		got <- h
	}()
	waitUntilWaiting(t, s, c, "l")
	forced := make(chan error, 1)
	go func() {
		freed, err := c.NewLock("l").ForceUnlock(owner(t.Context(), "operator"))
		if !freed && err == nil {
			err = errors.New("not freed")
		}
		forced <- err
	}()
	redistest.Eventually(t, 5*time.Second, "the lock is free", func() bool { return len(hash(t, s.Admin(), "l")) == 0 })
	close(late.Released)
	must(t, locktest.InTime(t, 5*time.Second, "ForceUnlock has ended", forced))
	h := locktest.InTime(t, 5*time.Second, "the waiter has the lock", got)
	if ended(h.Lost()) {
		t.Errorf("lost: %v; Redis has %v", context.Cause(h.Context()), hash(t, s.Admin(), "l"))
	}
	must(t, h.Release(t.Context()))
}
