package faulttests

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/lua"
	"github.com/redlatch/redlatch/reentrant"
)

// The renewal was sent before the release and is executed after it, when another Client
// has the lock or the same owner has it anew: it extends neither, and neither is lost.
func TestFault46RenewalAfterTheUnlock(t *testing.T) {
	t.Parallel()
	const lease = 6 * time.Second // longer than the next holder's: it would be seen
	for _, next := range []string{"the same owner", "another client", "nobody"} {
		t.Run(next, func(t *testing.T) {
			t.Parallel()
			r := newFaultRig(t)
			// The script is to be known by its digest, or it would change nothing.
			_, err := lua.Renew(t.Context(), r.Admin(), []lua.FieldOwner{{Lock: "none", Owner: "nobody"}}, lease)
			must(t, err)
			c := faultClient(t, r.through(t), reentrant.WithLease(lease))
			l, me := c.NewLock("l"), owner(t.Context(), "me")
			held := r.proxy.Add(faultproxy.Rule{Match: scriptIs("renew"), Times: 1, Action: faultproxy.HoldRequest})
			must(t, l.Lock(me))
			redistest.Eventually(t, 20*time.Second, "a renewal is on its way", func() bool { return held.Hits() == 1 })
			must(t, l.Unlock(me))
			heir := faultClient(t, r.Client(t))
			var hold *reentrant.Hold
			switch next {
			case "the same owner":
				hold, err = l.Acquire(me, reentrant.WithFixedLease(time.Hour))
			case "another client":
				hold, err = heir.NewLock("l").Acquire(me, reentrant.WithFixedLease(lease-time.Second))
			}
			must(t, err)
			before := bytesOf(t, r.Server, "l")
			held.Release()
			if after := bytesOf(t, r.Server, "l"); after != before {
				t.Errorf("the late renewal changed %q to %q", before, after)
			}
			if s := c.Stats(); s.Losses > 0 {
				t.Errorf("%+v", s)
			}
			if hold != nil {
				must(t, hold.Release(me))
			}
			locktest.TidyWithin(t, r.Server, 3*time.Second, "l")
		})
	}
}
