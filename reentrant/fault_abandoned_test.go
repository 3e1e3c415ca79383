package reentrant_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
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
	slow := r.proxy.Add(faultproxy.Rule{Match: scriptIs("acquire"), Times: 1, Action: faultproxy.Delay(300 * time.Millisecond)})
	wants(t, l.Lock(soon(t)), reentrant.ErrNotAcquired)
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
	if slow.Hits() != 1 {
		t.Errorf("%d commands were slow", slow.Hits())
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
	slow := r.proxy.Add(faultproxy.Rule{Match: scriptIs("release"), Times: 1, Action: faultproxy.Delay(300 * time.Millisecond)})
	wants(t, l.Unlock(soon(t)), reentrant.ErrUnconfirmed)
	hold, err := l.Acquire(ctx)
	okay(t, err)
	redistest.Eventually(t, 5*time.Second, "the slow release has run", func() bool { return slow.Hits() == 1 })
	time.Sleep(300 * time.Millisecond) // longer than it was slow for
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
	l, me, you := c.NewLock("l"), owner(t.Context(), "me"), owner(soon(t), "you")
	okay(t, l.Lock(me))
	yours := make(chan error, 1)
	go func() { yours <- l.Lock(you) }()
	redistest.Eventually(t, 5*time.Second, "somebody waits", func() bool { return c.Stats().Waiting == 1 })
	r.proxy.Add(faultproxy.Rule{Match: scriptIs("transfer"), Times: 1, Action: faultproxy.Delay(300 * time.Millisecond)})
	wants(t, l.Unlock(soon(t)), reentrant.ErrUnconfirmed)
	wants(t, inTime(t, 5*time.Second, "the waiter leaves", yours), reentrant.ErrNotAcquired)
	// Both calls are over, and the hand-off is not. Whoever comes now must find
	// one queue, not a second one.
	hold, err := l.Acquire(me)
	okay(t, err)
	okay(t, l.Lock(me))
	if got := r.held(t, "l"); len(got) != 1 || got[hold.Owner()] != "2" {
		t.Errorf("held twice, Redis has %v", got)
	}
	okay(t, l.Unlock(me))
	okay(t, hold.Release(me))
	tidyWithin(t, r.Server, 3*time.Second, "l")
	closeQuickly(t, c)
}
