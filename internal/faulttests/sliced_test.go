package faulttests

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// Every byte is a segment of its own: requests, replies and messages come in pieces, and
// nobody notices.
func TestFault15OneByteSegments(t *testing.T) {
	t.Parallel()
	const lease = 3 * time.Second
	r := newFaultRig(t)
	r.proxy.Slice(1)
	again := reentrant.WithEvents(reentrant.Events{Resubscribed: func(e reentrant.Event) {
		t.Errorf("the subscription was renewed: %v", e.Err)
	}})
	clients := []*reentrant.Client{
		faultClient(t, r.through(t), reentrant.WithLease(lease), again),
		faultClient(t, r.through(t), reentrant.WithLease(lease), again),
	}
	me := owner(t.Context(), "me")
	held, err := clients[0].NewLock("held", reentrant.WithFencing()).Acquire(me)
	must(t, err)
	locktest.Contend(t, "l", clients, 3, 15)
	redistest.Eventually(t, 10*time.Second, "it was renewed", func() bool { return clients[0].Stats().Renewals > 0 })
	must(t, held.Release(me))
	for i, c := range clients {
		st := c.Stats()
		if st.Losses > 0 || st.RenewFailures > 0 || st.Held > 0 || st.WakeUps.Message == 0 {
			t.Errorf("client %d: %+v", i, st)
		}
	}
	locktest.TidyWithin(t, r.Server, 10*time.Second, "l", "held")
}
