package faulttests

import (
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// The same as in TestBehindIsHeldWhileTheLockIsReleased, but the release is over before the answer
// to the question is there.
func TestBehindIsHeldWhenTheLockWasReleased(t *testing.T) {
	t.Parallel()
	r := newFaultRig(t).warm(t)
	rdb := r.through(t)
	late := locktest.LateAnswer{Script: "inspect", Released: make(chan struct{})}
	answer := sync.OnceFunc(func() { close(late.Released) })
	defer answer()
	rdb.AddHook(late)
	c := faultClient(t, rdb, locktest.WriteBehind)
	l, a := c.NewLock("l"), owner(t.Context(), "a")
	must(t, l.Lock(a))
	b := locktest.CallFor(t, c, l, "b")
	r.proxy.Add(faultproxy.Rule{Match: scriptIs("transfer"), Action: faultproxy.DropBefore})
	inspections := r.proxy.Add(faultproxy.Rule{Match: scriptIs("inspect"), Action: faultproxy.Delay(0)})
	slow := r.stall("release")
	must(t, l.Unlock(a))
	hold := b.Hold(t, 10*time.Second)
	wants(t, leaveRelease(t, slow, hold.Release), reentrant.ErrUnconfirmed)
	var count int
	asked := inBackground(func() (err error) { count, err = l.HoldCount(a); return err })
	redistest.Eventually(t, 5*time.Second, "the question was sent", func() bool { return inspections.Hits() > 0 })
	slow.Resume()
	locktest.FreeWithin(t, r.Server, 5*time.Second, "l")
	redistest.Eventually(t, 5*time.Second, "the release was confirmed", func() bool { return c.Stats().Held == 0 })
	answer()
	must(t, <-asked)
	if count != 0 {
		t.Errorf("HoldCount of an owner that has released the lock is %d", count)
	}
}
