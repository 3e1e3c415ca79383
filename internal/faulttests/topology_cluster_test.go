package faulttests

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// clusterWait is the wait of one Client for a lock that another holds in a cluster.
type clusterWait struct {
	name   string
	client *reentrant.Client // waits
	lock   *reentrant.Lock   // of the holder
	got    chan error
}

// waitInCluster has the holder take the lock and the waiter wait for it, and returns
// when the waiter is registered and can be reached by a message.
func waitInCluster(t *testing.T, cluster *redistest.Cluster, holder, waiter *reentrant.Client, name string) *clusterWait {
	t.Helper()
	w := &clusterWait{name: name, client: waiter, lock: holder.NewLock(name), got: make(chan error, 1)}
	must(t, w.lock.Lock(asHolder(t)))
	go func() { w.got <- waiter.NewLock(name).Lock(locktest.AsWaiter(t)) }()
	w.awaitReachable(t, cluster)
	return w
}

// awaitReachable returns when the waiter listens at the node that has the lock, and
// stands in the registry.
func (w *clusterWait) awaitReachable(t *testing.T, cluster *redistest.Cluster) {
	t.Helper()
	redistest.Eventually(t, 20*time.Second, "the waiter can be reached at the node of "+w.name, func() bool {
		node := cluster.Owner(t, w.name)
		own := fmt.Sprintf("redisson_lock__channel:{%s}:%s", w.name, w.client.ID())
		registered := node.Do(t, "ZSCORE", "redlatch_waiters:{"+w.name+"}", w.client.ID())
		return listeners(t, cluster, node, own) == 1 && registered != nil
	})
}

// listeners counts who hears what is published at the node. Before Redis 7.0 that is all in
// the cluster, wherever they listen.
func listeners(t *testing.T, cluster *redistest.Cluster, node *redistest.Server, channel string) (n int64) {
	t.Helper()
	if redistest.AtLeast(t, "7.0") {
		return node.Do(t, "PUBSUB", "SHARDNUMSUB", channel).([]any)[1].(int64)
	}
	for _, node := range cluster.Nodes {
		n += node.Do(t, "PUBSUB", "NUMSUB", channel).([]any)[1].(int64)
	}
	return n
}

// handOvers releases the locks and checks that the waiters were woken. A poll may come
// at that very moment; without messages it would have to come each time.
func handOvers(t *testing.T, waits []*clusterWait) {
	t.Helper()
	polled := 0
	for _, w := range waits {
		before := w.client.Stats().WakeUps
		must(t, w.lock.Unlock(asHolder(t)))
		must(t, <-w.got)
		if after := w.client.Stats().WakeUps; after.Poll+after.TTL > before.Poll+before.TTL {
			polled++
		}
		must(t, w.client.NewLock(w.name).Unlock(locktest.AsWaiter(t)))
	}
	if polled > len(waits)/2 {
		t.Errorf("%d of %d waiters were not woken", polled, len(waits))
	}
}

// inSlotsOf returns names of locks, each in another slot of the node.
func inSlotsOf(t *testing.T, cluster *redistest.Cluster, node *redistest.Server, count int) (names []string) {
	t.Helper()
	for i := 0; len(names) < count; i++ {
		if name := fmt.Sprintf("lock-%d", i); cluster.Owner(t, name) == node {
			names = append(names, name)
		}
	}
	return names
}

// Row 26, and what else a cluster does to waiters. One cluster for all, as one takes
// seconds to form.
func TestFault26Cluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3)
	many := func(o *redis.ClusterOptions) { o.MaxRedirects = 10 }
	holder, waiter := locktest.NewClient(t, cluster.Client(t, many)), locktest.NewClient(t, cluster.Client(t, many))

	t.Run("on every node, several slots of it", func(t *testing.T) {
		var waits []*clusterWait
		for _, node := range cluster.Nodes {
			for _, name := range inSlotsOf(t, cluster, node, 3) {
				waits = append(waits, waitInCluster(t, cluster, holder, waiter, name))
			}
		}
		handOvers(t, waits)
	})

	t.Run("a slot moves while its waiter waits", func(t *testing.T) {
		names := inSlotsOf(t, cluster, cluster.Nodes[0], 3)
		var waits []*clusterWait
		for _, name := range names {
			waits = append(waits, waitInCluster(t, cluster, holder, waiter, name))
		}
		cluster.MoveSlot(t, names[0], cluster.Nodes[1])
		cluster.MoveSlot(t, names[1], cluster.Nodes[2])
		for _, w := range waits {
			w.awaitReachable(t, cluster)
		}
		handOvers(t, waits)
	})

	// Within the slot's migration nobody can be told, but once it has arrived all try again.
	t.Run("released while the slot moves", func(t *testing.T) {
		name := inSlotsOf(t, cluster, cluster.Nodes[0], 1)[0]
		w := waitInCluster(t, cluster, holder, waiter, name)
		m := cluster.StartMigration(t, name, cluster.Nodes[1])
		released := make(chan error, 1)
		go func() { released <- w.lock.Unlock(asHolder(t)) }()
		m.Finish(t)
		must(t, <-released)
		must(t, <-w.got)
		must(t, waiter.NewLock(name).Unlock(locktest.AsWaiter(t)))
	})

	t.Run("the subscriptions are cut", func(t *testing.T) {
		var waits []*clusterWait
		for _, node := range cluster.Nodes {
			for _, name := range inSlotsOf(t, cluster, node, 2) {
				waits = append(waits, waitInCluster(t, cluster, holder, waiter, name))
			}
		}
		for _, node := range cluster.Nodes {
			node.Do(t, "CLIENT", "KILL", "TYPE", "pubsub")
		}
		for _, w := range waits {
			w.awaitReachable(t, cluster)
		}
		handOvers(t, waits)
	})

	// Whoever is gone costs nothing: SPUBLISH counts, as PUBLISH in a cluster does not.
	t.Run("a dead waiter is passed over", func(t *testing.T) {
		redistest.Needs(t, "7.0", "SPUBLISH")
		name := inSlotsOf(t, cluster, cluster.Nodes[0], 1)[0]
		w := waitInCluster(t, cluster, holder, waiter, name)
		node := cluster.Owner(t, name)
		node.Do(t, "ZADD", "redlatch_waiters:{"+name+"}", 1, "dead")
		must(t, w.lock.Unlock(asHolder(t)))
		if turn := node.Do(t, "GET", "redlatch_turn:{"+name+"}"); turn == "dead" {
			t.Error("the lock was kept for the dead")
		}
		must(t, <-w.got)
		must(t, waiter.NewLock(name).Unlock(locktest.AsWaiter(t)))
	})

	t.Run("a slot moves after the grant", func(t *testing.T) { slotMovesAfterTheGrant(t, cluster) })
	t.Run("slots move under load", func(t *testing.T) { slotsMoveUnderLoad(t, cluster) })
	t.Run("hand-offs while the slot moves", func(t *testing.T) { behindWhileSlotMoves(t, cluster) })

	t.Run("a node restarts and has lost the lock", func(t *testing.T) {
		node := cluster.Nodes[2]
		var waits []*clusterWait
		for _, name := range inSlotsOf(t, cluster, node, 3) {
			waits = append(waits, waitInCluster(t, cluster, holder, waiter, name))
		}
		node.Restart()
		for i, w := range waits {
			must(t, <-w.got) // it hears that it has missed something, or polls
			must(t, waiter.NewLock(w.name).Unlock(locktest.AsWaiter(t)))
			// Of the lock that it has lost the holder learns now, or by the watchdog.
			if err := w.lock.Unlock(asHolder(t)); !errors.Is(err, reentrant.ErrLost) {
				t.Errorf("unlock of a lost lock: %v", err)
			}
			waits[i] = waitInCluster(t, cluster, holder, waiter, w.name)
		}
		handOvers(t, waits)
	})
}

// Where the servers do not know PUBSUB SHARDNUMSUB, being older than Redis 7.0, or the users
// may not ask for it, or do not want it, both sides use PUBLISH and SUBSCRIBE.
func TestClusterPlainPubSub(t *testing.T) {
	cluster := redistest.StartCluster(t, 2)
	clients := map[string]func() *reentrant.Client{
		"by choice": func() *reentrant.Client { return locktest.NewClient(t, cluster.Client(t), reentrant.WithPlainPubSub()) },
	}
	if redistest.AtLeast(t, "7.0") {
		for _, node := range cluster.Nodes {
			node.SetUser(t, "old", "on", ">p", "~*", "&*", "+@all", "-ssubscribe", "-spublish", "-pubsub|shardnumsub")
		}
		old := func(o *redis.ClusterOptions) { o.Username, o.Password = "old", "p" }
		clients["by permission"] = func() *reentrant.Client { return locktest.NewClient(t, cluster.Client(t, old)) }
	} else {
		clients["by version"] = func() *reentrant.Client { return locktest.NewClient(t, cluster.Client(t)) }
	}
	for what, client := range clients {
		t.Run(what, func(t *testing.T) {
			holder, waiter := client(), client()
			for _, node := range cluster.Nodes {
				name := inSlotsOf(t, cluster, node, 1)[0]
				l := holder.NewLock(name)
				must(t, l.Lock(t.Context()))
				got := make(chan error, 1)
				go func() { got <- waiter.NewLock(name).Lock(locktest.AsWaiter(t)) }()
				redistest.Eventually(t, 10*time.Second, "the waiter is registered", func() bool {
					return node.Do(t, "ZSCORE", "redlatch_waiters:{"+name+"}", waiter.ID()) != nil
				})
				before := waiter.Stats().WakeUps
				must(t, l.Unlock(t.Context()))
				must(t, <-got)
				if after := waiter.Stats().WakeUps; after.Message == before.Message {
					t.Errorf("woken by %+v, before %+v", after, before)
				}
				must(t, waiter.NewLock(name).Unlock(locktest.AsWaiter(t)))
			}
		})
	}
}
