package faulttests

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// A cluster of three masters, of which the first has a replica. What breaks it for good
// comes last.
func TestFault26And27Replicated(t *testing.T) {
	t.Parallel()
	awaitDials(t)
	cluster := redistest.StartCluster(t, 3) // two must be left to elect a master
	replica := cluster.AddReplica(t, cluster.Nodes[0])
	t.Run("replicas confirm after a slot has moved", func(t *testing.T) { confirmedAfterMove(t, cluster) })
	t.Run("nobody serves a slot", func(t *testing.T) { slotUncovered(t, cluster) })
	t.Run("a master crashes", func(t *testing.T) { masterCrashes(t, cluster, replica) })
}

// awaitDials has the test end after go-redis' attempts to reach a node that is down, which
// are over a second after their client.
func awaitDials(t *testing.T) {
	t.Cleanup(func() {
		redistest.Eventually(t, 30*time.Second, "go-redis has ended", func() bool {
			stacks := make([]byte, 1<<20)
			return !strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), ".tryDial(")
		})
	})
}

// Row 26: a command that is followed by WAIT goes to one node, which may be the wrong one.
// go-redis takes no note of its MOVED.
func confirmedAfterMove(t *testing.T, cluster *redistest.Cluster) {
	c := locktest.NewClient(t, cluster.Client(t), reentrant.WithPlainPubSub(), reentrant.WithReplicaAcks(1, 500*time.Millisecond))
	name := inSlotsOf(t, cluster, cluster.Nodes[1], 1)[0]
	l := c.NewLock(name)
	wants(t, l.Lock(asHolder(t)), reentrant.ErrReplicas)
	cluster.MoveSlot(t, name, cluster.Nodes[0])
	must(t, l.Lock(asHolder(t)))
	must(t, l.Unlock(asHolder(t)))
}

// Row 27: a slot that no node has takes the whole cluster down, by default. Nobody hammers
// it meanwhile, no hold is given up, and all go on when it is back.
func slotUncovered(t *testing.T, cluster *redistest.Cluster) {
	redistest.Needs(t, "6.2", "statistics of commands that were refused")
	holder, waiter := locktest.NewClient(t, cluster.Client(t)), locktest.NewClient(t, cluster.Client(t))
	node := cluster.Nodes[2]
	names := inSlotsOf(t, cluster, node, 2)
	w := waitInCluster(t, cluster, holder, waiter, names[0])
	slot := node.Do(t, "CLUSTER", "KEYSLOT", names[1])
	for _, n := range cluster.Nodes {
		n.Do(t, "CLUSTER", "DELSLOTS", slot)
	}
	node.Do(t, "CONFIG", "RESETSTAT")
	began := time.Now()
	other := holder.NewLock(names[0] + ":{" + names[0] + "}")
	err := other.Lock(asHolder(t))
	wants(t, err, reentrant.ErrNotAcquired)
	if !strings.Contains(err.Error(), "CLUSTERDOWN") {
		t.Errorf("does not say why: %v", err)
	}
	released := make(chan error, 1)
	go func() { released <- w.lock.Unlock(asHolder(t)) }()
	wants(t, locktest.InTime(t, 20*time.Second, "an answer to the release", released), reentrant.ErrUnconfirmed)
	redistest.Eventually(t, 30*time.Second, "refusals", func() bool { return evals(t, node) >= 20 })
	n, took := evals(t, node), time.Since(began)
	t.Logf("%d scripts of two clients in %v", n, took)
	if float64(n) > 50+2*50*took.Seconds() {
		t.Error("that is too many")
	}

	node.Do(t, "CLUSTER", "ADDSLOTS", slot)
	must(t, locktest.InTime(t, 30*time.Second, "the waiter gets the lock", w.got))
	must(t, waiter.NewLock(w.name).Unlock(locktest.AsWaiter(t)))
	if err := other.Lock(asHolder(t)); err == nil {
		must(t, other.Unlock(asHolder(t)))
	} else {
		t.Errorf("after the outage: %v", err)
	}
	for _, n := range cluster.Nodes {
		redistest.Eventually(t, 30*time.Second, "all nodes know", func() bool {
			return strings.Contains(n.Do(t, "CLUSTER", "INFO").(string), "cluster_state:ok")
		})
	}
}

// Row 27: a master is killed, and its replica takes over after the node timeout. Locks go
// on there; go-redis would send to the dead master until its map of the Cluster is a
// minute old. With plain pub/sub nobody else asks it to renew the map.
func masterCrashes(t *testing.T, cluster *redistest.Cluster, replica *redistest.Server) {
	master := cluster.Nodes[0]
	names := inSlotsOf(t, cluster, master, 3)
	held, free, wanted := names[0], names[1], names[2]
	holder := locktest.NewClient(t, cluster.Client(t), reentrant.WithPlainPubSub())
	other := locktest.NewClient(t, cluster.Client(t), reentrant.WithPlainPubSub())
	waiter := locktest.NewClient(t, cluster.Client(t))
	hold, err := holder.NewLock(held).Acquire(asHolder(t))
	must(t, err)
	must(t, holder.NewLock(wanted).Lock(asHolder(t)))
	must(t, other.NewLock(free).Lock(locktest.AsWaiter(t)))
	must(t, other.NewLock(free).Unlock(locktest.AsWaiter(t)))
	next := locktest.CallFor(t, waiter, waiter.NewLock(wanted), "waiter")
	registered(t, master, wanted, waiter)
	redistest.Eventually(t, 20*time.Second, "the replica has the locks", func() bool {
		return replica.Info(t, "replication", "slave_repl_offset") == master.Info(t, "replication", "master_repl_offset")
	})

	master.Kill()
	redistest.Eventually(t, 60*time.Second, "the replica takes over", func() bool {
		return replica.Info(t, "replication", "role") == "master"
	})
	promoted := time.Now()
	// Who has had no answer yet gives up after a few tries, and is told so.
	for err = errors.New("not tried"); err != nil; err = other.NewLock(free).Lock(locktest.AsWaiter(t)) {
		if since := time.Since(promoted); since > 25*time.Second {
			t.Fatalf("still refused %v after the promotion: %v", since, err)
		}
	}
	t.Logf("locked %v after the promotion", time.Since(promoted))
	must(t, other.NewLock(free).Unlock(locktest.AsWaiter(t)))

	must(t, holder.NewLock(wanted).Unlock(asHolder(t)))
	must(t, next.Hold(t, 30*time.Second).Release(next.Ctx))
	must(t, hold.Release(asHolder(t)))
	t.Logf("all done %v after the promotion", time.Since(promoted))
}
