package faulttests

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// The master of a Sentinel group dies. Of both sides of read-write locks, what the replica has goes on at the new master, with its
// markers, waiters and barriers; of what it does not have the holders are told, and the waiters have it.
func TestFault22And24KindsFailover(t *testing.T) {
	t.Parallel()
	group, relay := redistest.StartSentinelRelayed(t)
	master, heir := group.Master, group.Replica
	holder := locktest.NewClient(t, group.Client(t), reentrant.WithLease(failoverLease))
	waiter := locktest.NewClient(t, group.Client(t), reentrant.WithLease(failoverLease))
	var known []locktest.Kind
	for _, k := range []locktest.Kind{locktest.Write, locktest.WriteBeforeReads, locktest.Read, locktest.FixedRead} {
		k.Name = "kept " + k.Name
		known = append(known, k)
	}
	kept := newStands(t, master, holder, waiter, known)
	for _, st := range kept {
		st.Registered(t, heir, st.name, 1)
	}
	relay.CutReplicas()
	lost := newStands(t, master, holder, waiter, []locktest.Kind{locktest.Write, locktest.WriteBeforeReads, locktest.Read, locktest.FixedRead})
	master.Kill()
	group.AwaitPromotion(t)

	for _, st := range lost {
		st.wantLost(t, failoverLease, reentrant.Overridden)
		st.goesOn(t, 2*failoverLease)
	}
	before := holder.Stats().Renewals
	redistest.Eventually(t, failoverLease, "all are renewed at the new master", func() bool {
		return holder.Stats().Renewals >= before+uint64(len(kept))
	})
	for _, st := range kept {
		st.wantHeld(t, heir)
		must(t, st.hold.Release(asHolder(t)))
		st.goesOn(t, 20*time.Second)
	}
	for _, st := range append(kept, lost...) {
		nothingLeft(t, heir, st.name)
	}
}
