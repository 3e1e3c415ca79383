package faulttests

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// A move that runs, but is not answered, is sent again later. The second run finds the field
// moved and leaves the TTL alone: nothing is to be trusted longer for it than from the first.
func TestBehindValidityIsFromTheFirstMove(t *testing.T) {
	t.Parallel()
	const lease = 3 * time.Second
	r := newFaultRig(t).warm(t)
	c := faultClient(t, r.through(t, locktest.Impatience(200*time.Millisecond)), reentrant.WithLease(lease), locktest.WriteBehind)
	l := c.NewLock("l")
	first, err := l.Acquire(owner(t.Context(), "a"))
	must(t, err)
	next := locktest.CallFor(t, c, l, "b")
	// Renewals would hide it, as they extend the lock whichever field stands.
	r.proxy.Add(faultproxy.Rule{Match: scriptIs("renew"), Action: faultproxy.DropBefore})
	lost := r.proxy.Add(faultproxy.Rule{Match: scriptIs("transfer"), Times: 4, Action: faultproxy.SwallowReply})
	must(t, first.Release(t.Context()))
	second := next.Hold(t, time.Second)
	before := second.ValidUntil()
	redistest.Eventually(t, lease, "the move was answered at last, or nothing came of it", func() bool {
		return lost.Hits() == 4 && second.ValidUntil().After(before) || time.Until(second.ValidUntil()) < lease/3
	})
	left, err := l.TTL(t.Context())
	must(t, err)
	if expires := time.Now().Add(left); second.ValidUntil().After(expires) {
		t.Errorf("the hold is trusted for %v after Redis forgets it", second.ValidUntil().Sub(expires))
	}
}
