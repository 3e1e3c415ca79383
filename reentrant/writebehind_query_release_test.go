package reentrant_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/reentrant"
)

// While the last holder's release is on its way the field may still be that of an owner who
// has released the lock before: that one does not hold it.
func TestBehindIsHeldWhileTheLockIsReleased(t *testing.T) {
	t.Parallel()
	r := newFaultRig(t).warm(t)
	c := faultClient(t, r.through(t), writeBehind)
	l, a := c.NewLock("l"), owner(t.Context(), "a")
	okay(t, l.Lock(a))
	b := callFor(t, c, l, "b")
	r.proxy.Add(faultproxy.Rule{Match: scriptIs("transfer"), Action: faultproxy.DropBefore})
	slow := r.stall("release")
	okay(t, l.Unlock(a))
	hold := b.hold(t, 10*time.Second)
	wants(t, leaveRelease(t, slow, hold.Release), reentrant.ErrUnconfirmed)
	if n, err := l.HoldCount(a); n != 0 || err != nil {
		t.Errorf("HoldCount of an owner that has released the lock is %d, %v", n, err)
	}
	slow.Resume()
	freeWithin(t, r.Server, 5*time.Second, "l")
}
