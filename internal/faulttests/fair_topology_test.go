package faulttests

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// A fair lock in a cluster: with sharded pub/sub and without, as a member of a MultiLock on three nodes, and while
// its slot moves under those who wait.
func TestFault26FairCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3)
	for what, opts := range map[string][]reentrant.Option{"sharded": nil, "plain pub/sub": {reentrant.WithPlainPubSub()}} {
		t.Run(what, func(t *testing.T) { fairWakesInCluster(t, cluster, opts) })
	}
	t.Run("members", func(t *testing.T) { fairMembersInCluster(t, cluster) })
	t.Run("the slot moves", func(t *testing.T) { fairSlotMoves(t, cluster) })
}

// fairWakesInCluster: calls of two Clients are granted in order, and those of the other Client are told by a message.
func fairWakesInCluster(t *testing.T, cluster *redistest.Cluster, opts []reentrant.Option) {
	for _, node := range cluster.Nodes {
		name := inSlotsOf(t, cluster, node, 1)[0]
		clients := []*reentrant.Client{locktest.NewClient(t, cluster.Client(t), opts...), locktest.NewClient(t, cluster.Client(t), opts...)}
		f := &fairTurns{t: t, name: name, node: func() *redistest.Server { return node }}
		first, err := clients[0].NewFairLock(name).Acquire(asHolder(t))
		must(t, err)
		for i := range 6 {
			f.joins(clients[1-i%2], i, 0)
		}
		redistest.Eventually(t, 10*time.Second, "the other Client is listened to", func() bool { return clients[1].Stats().Waiting == 3 })
		before := clients[1].Stats().WakeUps.Message
		must(t, first.Release(asHolder(t)))
		f.want(6)
		if clients[1].Stats().WakeUps.Message == before {
			t.Errorf("%s: not woken: %+v", name, clients[1].Stats().WakeUps)
		}
	}
}

// fairMembersInCluster: a MultiLock of fair locks on three nodes is exclusive, and makes progress beside calls for
// a single member.
func fairMembersInCluster(t *testing.T, cluster *redistest.Cluster) {
	c, other := locktest.NewClient(t, cluster.Client(t)), locktest.NewClient(t, cluster.Client(t))
	var members []multilock.Locker
	var names []string
	for _, node := range cluster.Nodes {
		name := inSlotsOf(t, cluster, node, 1)[0] + "-m"
		names, members = append(names, name), append(members, c.NewFairLock(name))
	}
	all, err := multilock.New(members...)
	must(t, err)
	me, you := owner(t.Context(), "me"), owner(t.Context(), "you")
	must(t, all.Lock(me))
	for _, name := range names {
		if ok, err := other.NewFairLock(name).TryLock(you, 0, 0); ok || err != nil {
			t.Errorf("%s beside the MultiLock: %v, %v", name, ok, err)
		}
	}
	must(t, all.Unlock(me))
	single := other.NewFairLock(names[1])
	must(t, single.Lock(you))
	waits := inBackground(func() error { return all.Lock(me) })
	redistest.Eventually(t, 20*time.Second, "the MultiLock is in the line of its member", func() bool {
		return cluster.Owner(t, names[1]).Do(t, "LLEN", "redisson_lock_queue:{"+names[1]+"}") == int64(1)
	})
	must(t, single.Unlock(you))
	must(t, locktest.InTime(t, 20*time.Second, "the MultiLock", waits))
	must(t, all.Unlock(me))
}

// fairSlotMoves: the slot moves three times while calls of two Clients stand in line: they are granted in order. Then
// it moves while they have their turns. A move ends sharded subscriptions, and a Client that does not listen is left
// out at its turn: then the calls of each Client keep their order.
func fairSlotMoves(t *testing.T, cluster *redistest.Cluster) {
	const calls = 12
	name := inSlotsOf(t, cluster, cluster.Nodes[0], 1)[0]
	many := func(o *redis.ClusterOptions) { o.MaxRedirects = 10 }
	clients := []*reentrant.Client{locktest.NewClient(t, cluster.Client(t, many)), locktest.NewClient(t, cluster.Client(t, many))}
	for _, held := range []time.Duration{0, 30 * time.Millisecond} {
		f := &fairTurns{t: t, name: name, node: func() *redistest.Server { return cluster.Owner(t, name) }}
		first, err := clients[0].NewFairLock(name).Acquire(asHolder(t))
		must(t, err)
		for i := range calls {
			f.joins(clients[i/2%2], i, held)
			if i%4 == 3 {
				moveOn(t, cluster, name)
			}
		}
		for _, c := range clients {
			own := fmt.Sprintf("redisson_lock__channel:{%s}:%s", name, c.ID())
			redistest.Eventually(t, 20*time.Second, "the Client listens at the new node", func() bool {
				return listeners(t, cluster, cluster.Owner(t, name), own) == 1
			})
		}
		must(t, first.Release(asHolder(t)))
		if held == 0 {
			f.want(calls)
			continue
		}
		for range 2 {
			moveOn(t, cluster, name)
		}
		f.wantEach(calls, func(i int) int { return i / 2 % 2 })
	}
	for i, c := range clients {
		if n := c.Stats().Losses; n > 0 {
			t.Errorf("client %d: %d losses", i, n)
		}
	}
	nothingLeft(t, cluster.Owner(t, name), name)
}

// moveOn moves the slot of the name to the next node.
func moveOn(t *testing.T, cluster *redistest.Cluster, name string) {
	at := slices.Index(cluster.Nodes, cluster.Owner(t, name))
	cluster.StartMigration(t, name, cluster.Nodes[(at+1)%len(cluster.Nodes)]).Finish(t)
}

// Row 24 for a fair lock: a Sentinel group fails over while calls of two Clients stand in line. Those of each Client
// keep their order at the new master, which the line has reached or not.
func TestFault24FairFailover(t *testing.T) {
	t.Parallel()
	group := redistest.StartSentinel(t)
	holder := locktest.NewClient(t, group.Client(t), reentrant.WithLease(failoverLease), reentrant.WithReplicaAcks(1, 4*time.Second))
	waiters := locktest.NewClient(t, group.Client(t), reentrant.WithLease(failoverLease))
	at := group.Master
	f := &fairTurns{t: t, name: "l", node: func() *redistest.Server { return at }}
	first, err := holder.NewFairLock("l").Acquire(asHolder(t))
	must(t, err)
	for i := range 4 {
		f.joins(waiters, i, 0)
	}
	group.Master.Stop()
	group.AwaitPromotion(t)
	at = group.Replica
	redistest.Eventually(t, 30*time.Second, "the holder is heard, and the line stands, at the new master", func() bool {
		return first.ValidUntil().After(time.Now().Add(failoverLease/2)) && f.stands(0) && f.stands(3)
	})
	must(t, first.Release(asHolder(t)))
	f.want(4)
	group.Master.Continue()
	nothingLeft(t, group.Replica, "l")
	if n := holder.Stats().Losses + waiters.Stats().Losses; n > 0 {
		t.Errorf("%d losses", n)
	}
}

// Each grant of a fair lock asks the replicas. Without them nobody has the lock, and nobody stays in the line.
func TestFairReplicaAcks(t *testing.T) {
	master := redistest.Start(t)
	replica := redistest.Start(t, redistest.WithReplicaOf(master))
	replica.Follows(t, master)
	acks := reentrant.WithReplicaAcks(1, 500*time.Millisecond)
	clients := []*reentrant.Client{locktest.NewClient(t, master.Client(t), acks), locktest.NewClient(t, master.Client(t), acks)}
	f := &fairTurns{t: t, name: "order", node: func() *redistest.Server { return master }}
	first, err := clients[0].NewFairLock("order").Acquire(asHolder(t))
	must(t, err)
	for i := range 6 {
		f.joins(clients[i%2], i, 0)
	}
	must(t, first.Release(asHolder(t)))
	f.want(6)
	replica.Stop()
	defer replica.Continue()
	wants(t, clients[0].NewFairLock("order").Lock(asHolder(t)), reentrant.ErrReplicas, reentrant.ErrNotAcquired)
	nothingLeft(t, master, "order")
	if n := master.Do(t, "EXISTS", "redisson_lock_queue:{order}"); n != int64(0) {
		t.Error("somebody is in the line")
	}
}
