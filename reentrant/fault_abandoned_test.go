package reentrant_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// A call has left while its command was on the way. Its owner locks anew; what the
// old command is answered, late, must not touch the new hold.
func TestFaultAbandonedAcquire(t *testing.T) {
	t.Parallel()
	r := newFaultRig(t).warm(t)
	c := faultClient(t, r.through(t))
	l, ctx := c.NewLock("l"), owner(t.Context(), "me")
	slow := r.stall("acquire")
	wants(t, leave(t, slow, l.Lock), reentrant.ErrNotAcquired)
	time.AfterFunc(300*time.Millisecond, slow.Resume) // while it is looked at
	hold, err := l.Acquire(ctx)
	okay(t, err)
	okay(t, l.Lock(ctx)) // nested: a second hold, by whatever way the first was had
	if got := r.held(t, "l"); got[hold.Owner()] != "2" {
		t.Errorf("held twice, Redis has %v", got)
	}
	deadline := time.Now().Add(600 * time.Millisecond)
	for time.Now().Before(deadline) {
		if got := r.held(t, "l"); got[hold.Owner()] != "2" {
			t.Fatalf("the abandoned call took the new hold away: Redis has %v", got)
		}
		time.Sleep(5 * time.Millisecond)
	}
	okay(t, l.Unlock(ctx))
	okay(t, hold.Release(ctx))
	tidyWithin(t, r.Server, 3*time.Second, "l")
}

// The same with an unlock that was not waited for.
func TestFaultAbandonedUnlock(t *testing.T) {
	t.Parallel()
	r := newFaultRig(t).warm(t)
	c := faultClient(t, r.through(t))
	l, ctx := c.NewLock("l"), owner(t.Context(), "me")
	okay(t, l.Lock(ctx))
	slow := r.stall("release")
	wants(t, leaveRelease(t, slow, l.Unlock), reentrant.ErrUnconfirmed)
	var hold *reentrant.Hold
	next := begin(func() (err error) { hold, err = l.Acquire(ctx); return err })
	slow.Resume()
	okay(t, next.wait())
	if got := r.held(t, "l"); got[hold.Owner()] != "1" {
		t.Errorf("the abandoned unlock took the new hold away: Redis has %v", got)
	}
	okay(t, hold.Release(ctx))
}

// A hand-off on its way to a waiter that has left goes on to nobody, and leaves
// nothing that is held without an owner knowing.
func TestFaultAbandonedHandOff(t *testing.T) {
	t.Parallel()
	r := newFaultRig(t).warm(t)
	c := faultClient(t, r.through(t))
	l, me := c.NewLock("l"), owner(t.Context(), "me")
	you, gone := context.WithCancel(owner(t.Context(), "you"))
	defer gone()
	okay(t, l.Lock(me))
	yours := make(chan error, 1)
	go func() { yours <- l.Lock(you) }()
	redistest.Eventually(t, 5*time.Second, "somebody waits", func() bool { return c.Stats().Waiting == 1 })
	slow := r.stall("transfer")
	wants(t, leaveRelease(t, slow, l.Unlock), reentrant.ErrUnconfirmed)
	gone()
	wants(t, inTime(t, 5*time.Second, "the waiter leaves", yours), reentrant.ErrNotAcquired)
	// Both calls are over, and the hand-off is not. Whoever comes now must find
	// one queue, not a second one.
	var hold *reentrant.Hold
	next := begin(func() (err error) { hold, err = l.Acquire(me); return err })
	redistest.Eventually(t, 10*time.Second, "somebody comes", func() bool { return c.Stats().Waiting == 1 })
	slow.Resume()
	okay(t, next.wait())
	okay(t, l.Lock(me))
	if got := r.held(t, "l"); len(got) != 1 || got[hold.Owner()] != "2" {
		t.Errorf("held twice, Redis has %v", got)
	}
	okay(t, l.Unlock(me))
	okay(t, hold.Release(me))
	tidyWithin(t, r.Server, 3*time.Second, "l")
	closeQuickly(t, c)
}
