package reentrant_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/reentrant"
)

// The lock passes on from an owner and back to it before the field could be moved, while the
// end of an inner hold was still to be told to Redis: its next tenure begins with count 1.
func TestBehindCountOfAnOwnerThatComesBack(t *testing.T) {
	t.Parallel()
	r := newFaultRig(t).warm(t)
	c := faultClient(t, r.through(t, impatience(300*time.Millisecond)), writeBehind)
	l, a := c.NewLock("l"), owner(t.Context(), "a")
	okay(t, l.Lock(a))
	okay(t, l.Lock(a))
	b := callFor(t, c, l, "b")
	cut := r.proxy.Add(faultproxy.Rule{Match: scriptIs("count"), Action: faultproxy.SwallowRequest})
	short, cancel := context.WithTimeout(a, 20*time.Millisecond)
	defer cancel()
	wants(t, l.Unlock(short), reentrant.ErrUnconfirmed) // its command has the turn for 300 ms at least
	okay(t, l.Unlock(a))
	between := b.hold(t, time.Second)
	again := callFor(t, c, l, "a")
	okay(t, between.Release(t.Context()))
	hold := again.hold(t, time.Second)
	cut.Remove()
	follows(t, r.Server, "l", hold, "1")
	if n, err := l.HoldCount(a); n != 1 || err != nil {
		t.Errorf("HoldCount is %d, %v", n, err)
	}
	okay(t, hold.Release(t.Context()))
}
