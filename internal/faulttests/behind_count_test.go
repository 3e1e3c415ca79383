package faulttests

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/reentrant"
)

// The lock passes on from an owner and back to it before the field could be moved, while the
// end of an inner hold was still to be told to Redis: its next tenure begins with count 1.
func TestBehindCountOfAnOwnerThatComesBack(t *testing.T) {
	t.Parallel()
	r := newFaultRig(t).warm(t)
	c := faultClient(t, r.through(t, locktest.Impatience(300*time.Millisecond)), locktest.WriteBehind)
	l, a := c.NewLock("l"), owner(t.Context(), "a")
	must(t, l.Lock(a))
	must(t, l.Lock(a))
	b := locktest.CallFor(t, c, l, "b")
	cut := r.proxy.Add(faultproxy.Rule{Match: scriptIs("count"), Action: faultproxy.SwallowRequest})
	short, cancel := context.WithTimeout(a, 20*time.Millisecond)
	defer cancel()
	wants(t, l.Unlock(short), reentrant.ErrUnconfirmed) // its command has the turn for 300 ms at least
	must(t, l.Unlock(a))
	between := b.Hold(t, time.Second)
	again := locktest.CallFor(t, c, l, "a")
	must(t, between.Release(t.Context()))
	hold := again.Hold(t, time.Second)
	cut.Remove()
	follows(t, r.Server, "l", hold, "1")
	if n, err := l.HoldCount(a); n != 1 || err != nil {
		t.Errorf("HoldCount is %d, %v", n, err)
	}
	must(t, hold.Release(t.Context()))
}
