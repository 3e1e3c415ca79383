package faulttests

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// The slot of a lock moves between the grant by a release and the first renewal, the claim: the renewal finds the field
// at its new node, and the hold goes on.
func slotMovesAfterTheGrant(t *testing.T, cluster *redistest.Cluster) {
	redistest.Needs(t, "7.0", "sharded pub/sub: before it nobody is granted the lock in a cluster")
	holder, waiter := locktest.NewClient(t, cluster.Client(t)), locktest.NewClient(t, cluster.Client(t))
	name := inSlotsOf(t, cluster, cluster.Nodes[0], 1)[0]
	var hold *reentrant.Hold
	var next *locktest.Call
	for hold == nil {
		l := holder.NewLock(name)
		must(t, l.Lock(asHolder(t)))
		next = locktest.CallFor(t, waiter, waiter.NewLock(name), "waiter")
		(&clusterWait{name: name, client: waiter}).awaitReachable(t, cluster)
		must(t, l.Unlock(asHolder(t)))
		got := next.Hold(t, 10*time.Second)
		if waiter.Stats().Granted > 0 {
			hold = got
			break
		}
		must(t, got.Release(next.Ctx)) // the waiter had waited for too long on a busy machine, and was woken
	}
	cluster.MoveSlot(t, name, cluster.Nodes[1])
	redistest.Eventually(t, 10*time.Second, "the claim is renewed to the lease at the new node", func() bool {
		return cluster.Nodes[1].Do(t, "PTTL", name).(int64) > (5 * time.Second).Milliseconds()
	})
	if ended(hold.Lost()) {
		t.Error("the hold is lost")
	}
	must(t, hold.Release(next.Ctx))
	locktest.FreeWithin(t, cluster.Nodes[1], 10*time.Second, name)
}

// The master crashes after a release has granted the lock, and its replica has not heard of that. The waiter that was
// granted the lock is told of the loss when its claim has ended, or earlier. The new master still has the field of the
// owner that had released; when that one's lease ends, the lock is granted with a higher token.
func TestFault22FailoverForgetsTheGrant(t *testing.T) {
	t.Parallel()
	for range 5 {
		if failoverForgetsTheGrant(t) {
			return
		}
	}
	t.Error("no release has granted the lock")
}

// failoverForgetsTheGrant reports false if the waiter had waited for too long on a busy machine, and was woken.
func failoverForgetsTheGrant(t *testing.T) bool {
	group, relay := redistest.StartSentinelRelayed(t)
	holder := locktest.NewClient(t, group.Client(t), reentrant.WithLease(failoverLease))
	waiter := locktest.NewClient(t, group.Client(t), reentrant.WithLease(failoverLease))
	l := holder.NewLock("l", reentrant.WithFencing())
	must(t, l.Lock(asHolder(t)))
	redistest.Eventually(t, 10*time.Second, "the replica has the holder's field", func() bool {
		return len(locktest.Held(t, group.Replica, "l")) == 1
	})
	next := locktest.CallFor(t, waiter, waiter.NewLock("l", reentrant.WithFencing()), "waiter")
	registered(t, group.Master, "l", waiter)
	relay.CutReplicas()
	must(t, l.Unlock(asHolder(t)))
	got := next.Hold(t, 10*time.Second)
	if waiter.Stats().Granted == 0 {
		must(t, got.Release(next.Ctx))
		return false
	}

	group.Master.Kill()
	locktest.InTime(t, failoverLease, "the granted owner is told", got.Lost())
	wants(t, got.Release(next.Ctx), reentrant.ErrLost)
	group.AwaitPromotion(t)
	again, err := waiter.NewLock("l", reentrant.WithFencing()).Acquire(next.Ctx, reentrant.WithWait(2*failoverLease))
	must(t, err)
	if again.Token() <= got.Token() {
		t.Errorf("token %d after %d", again.Token(), got.Token())
	}
	must(t, again.Release(next.Ctx))
	locktest.FreeWithin(t, group.Replica, 20*time.Second, "l")
	return true
}
