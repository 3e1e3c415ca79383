package faulttests

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/reentrant"
)

// While the last holder's release is on its way the field may still be that of an owner who
// has released the lock before: that one does not hold it.
func TestBehindIsHeldWhileTheLockIsReleased(t *testing.T) {
	t.Parallel()
	r := newFaultRig(t).warm(t)
	c := faultClient(t, r.through(t), locktest.WriteBehind)
	l, a := c.NewLock("l"), owner(t.Context(), "a")
	must(t, l.Lock(a))
	b := locktest.CallFor(t, c, l, "b")
	r.proxy.Add(faultproxy.Rule{Match: scriptIs("transfer"), Action: faultproxy.DropBefore})
	slow := r.stall("release")
	must(t, l.Unlock(a))
	hold := b.Hold(t, 10*time.Second)
	wants(t, leaveRelease(t, slow, hold.Release), reentrant.ErrUnconfirmed)
	if n, err := l.HoldCount(a); n != 0 || err != nil {
		t.Errorf("HoldCount of an owner that has released the lock is %d, %v", n, err)
	}
	slow.Resume()
	locktest.FreeWithin(t, r.Server, 5*time.Second, "l")
}
