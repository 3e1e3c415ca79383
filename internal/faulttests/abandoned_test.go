package faulttests

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
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
	must(t, err)
	must(t, l.Lock(ctx)) // nested: a second hold, by whatever way the first was had
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
	must(t, l.Unlock(ctx))
	must(t, hold.Release(ctx))
	locktest.TidyWithin(t, r.Server, 3*time.Second, "l")
}

// The same with an unlock that was not waited for.
func TestFaultAbandonedUnlock(t *testing.T) {
	t.Parallel()
	r := newFaultRig(t).warm(t)
	c := faultClient(t, r.through(t))
	l, ctx := c.NewLock("l"), owner(t.Context(), "me")
	must(t, l.Lock(ctx))
	slow := r.stall("release")
	wants(t, leaveRelease(t, slow, l.Unlock), reentrant.ErrUnconfirmed)
	var hold *reentrant.Hold
	next := inBackground(func() (err error) { hold, err = l.Acquire(ctx); return err })
	slow.Resume()
	must(t, <-next)
	if got := r.held(t, "l"); got[hold.Owner()] != "1" {
		t.Errorf("the abandoned unlock took the new hold away: Redis has %v", got)
	}
	must(t, hold.Release(ctx))
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
	must(t, l.Lock(me))
	yours := make(chan error, 1)
	go func() { yours <- l.Lock(you) }()
	redistest.Eventually(t, 5*time.Second, "somebody waits", func() bool { return c.Stats().Waiting == 1 })
	slow := r.stall("transfer")
	wants(t, leaveRelease(t, slow, l.Unlock), reentrant.ErrUnconfirmed)
	gone()
	wants(t, locktest.InTime(t, 5*time.Second, "the waiter leaves", yours), reentrant.ErrNotAcquired)
	// Both calls are over, and the hand-off is not. Whoever comes now must find
	// one queue, not a second one.
	var hold *reentrant.Hold
	next := inBackground(func() (err error) { hold, err = l.Acquire(me); return err })
	redistest.Eventually(t, 10*time.Second, "somebody comes", func() bool { return c.Stats().Waiting == 1 })
	slow.Resume()
	must(t, <-next)
	must(t, l.Lock(me))
	if got := r.held(t, "l"); len(got) != 1 || got[hold.Owner()] != "2" {
		t.Errorf("held twice, Redis has %v", got)
	}
	must(t, l.Unlock(me))
	must(t, hold.Release(me))
	locktest.TidyWithin(t, r.Server, 3*time.Second, "l")
	locktest.CloseQuickly(t, c)
}
