package faulttests

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// Reads and writes ask the replicas at the grant. A read that joins a lease does not ask again. Without the replica
// neither side is had, and nothing is left.
func TestReadWriteReplicaAcks(t *testing.T) {
	master := redistest.Start(t)
	replica := redistest.Start(t, redistest.WithReplicaOf(master))
	replica.Follows(t, master)
	c := locktest.NewClient(t, master.Client(t), reentrant.WithReplicaAcks(1, 500*time.Millisecond))
	rw := c.NewReadWriteLock("order")
	for i := range 20 {
		must(t, rw.RLock(owner(t.Context(), fmt.Sprint("r", i))))
	}
	if c.Stats().Shared == 0 {
		t.Error("no read joined")
	}
	replica.Stop()
	defer replica.Continue()
	redistest.Eventually(t, 5*time.Second, "a read that joins and asks Redis, since its last word is old", func() bool {
		before := evals(t, master)
		must(t, rw.RLock(owner(t.Context(), "late")))
		must(t, rw.RUnlock(owner(t.Context(), "late")))
		return evals(t, master) > before
	})
	for i := range 20 {
		must(t, rw.RUnlock(owner(t.Context(), fmt.Sprint("r", i))))
	}
	wants(t, rw.RLock(owner(t.Context(), "r")), reentrant.ErrReplicas, reentrant.ErrNotAcquired)
	wants(t, rw.Lock(owner(t.Context(), "w")), reentrant.ErrReplicas, reentrant.ErrNotAcquired)
	nothingLeft(t, master, "order")
}

// A read-write lock in a cluster: with sharded pub/sub and without, as a member of a MultiLock, and while its slot
// goes to and fro.
func TestFault26ReadWriteCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3)
	for what, opts := range map[string][]reentrant.Option{"sharded": nil, "plain pub/sub": {reentrant.WithPlainPubSub()}} {
		t.Run(what, func(t *testing.T) { rwWakesInCluster(t, cluster, opts) })
	}
	t.Run("members", func(t *testing.T) { rwMembersInCluster(t, cluster) })
	t.Run("the slot moves", func(t *testing.T) { rwSlotMoves(t, cluster) })
}

// rwWakesInCluster: a writer is woken by the last read, and readers by the write.
func rwWakesInCluster(t *testing.T, cluster *redistest.Cluster, opts []reentrant.Option) {
	for _, node := range cluster.Nodes {
		name := inSlotsOf(t, cluster, node, 1)[0] + ":rw"
		name = "{" + inSlotsOf(t, cluster, node, 1)[0] + "}" + name
		one, two := locktest.NewClient(t, cluster.Client(t), opts...), locktest.NewClient(t, cluster.Client(t), opts...)
		a, b := one.NewReadWriteLock(name), two.NewReadWriteLock(name)
		me, you := owner(t.Context(), "me"), owner(t.Context(), "you")
		must(t, a.RLock(me))
		writer := inBackground(func() error { return b.Lock(you) })
		waits := func(registry string) {
			t.Helper()
			redistest.Eventually(t, 10*time.Second, "the waiter is registered", func() bool {
				return node.Do(t, "ZCARD", "redlatch_waiters:"+name+registry) == int64(1)
			})
		}
		waits("")
		before := two.Stats().WakeUps.Message
		must(t, a.RUnlock(me))
		must(t, <-writer)
		if two.Stats().WakeUps.Message == before {
			t.Errorf("the writer was not woken: %+v", two.Stats().WakeUps)
		}
		reader := inBackground(func() error { return a.RLock(me) })
		waits(":readers")
		before = one.Stats().WakeUps.Message
		must(t, b.Unlock(you))
		must(t, <-reader)
		if one.Stats().WakeUps.Message == before {
			t.Errorf("the reader was not woken: %+v", one.Stats().WakeUps)
		}
		must(t, a.RUnlock(me))
	}
}

func rwMembersInCluster(t *testing.T, cluster *redistest.Cluster) {
	var members []multilock.Locker
	c := locktest.NewClient(t, cluster.Client(t))
	for _, node := range cluster.Nodes {
		members = append(members, c.NewReadWriteLock(inSlotsOf(t, cluster, node, 1)[0]+"-m").Read())
	}
	all, err := multilock.New(members...)
	must(t, err)
	me, you := owner(t.Context(), "me"), owner(t.Context(), "you")
	must(t, all.Lock(me))
	must(t, all.Lock(you)) // reads together
	other := locktest.NewClient(t, cluster.Client(t)).NewReadWriteLock(inSlotsOf(t, cluster, cluster.Nodes[0], 1)[0] + "-m")
	if ok, err := other.TryLock(me, 0, 0); ok || err != nil {
		t.Errorf("a write beside members that read: %v, %v", ok, err)
	}
	must(t, all.Unlock(me))
	must(t, all.Unlock(you))
	must(t, locktest.Tried(other.TryLock(me, 5*time.Second, 0)))
	must(t, other.Unlock(me))
}

// rwSlotMoves: reads and writes of three Clients go on while the slot moves, its markers before its hash or after it.
func rwSlotMoves(t *testing.T, cluster *redistest.Cluster) {
	name := inSlotsOf(t, cluster, cluster.Nodes[0], 1)[0]
	many := func(o *redis.ClusterOptions) { o.MaxRedirects = 10 }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	x := &rwOracle{t: t}
	var clients []*reentrant.Client
	var group sync.WaitGroup
	for i := range 3 {
		c := locktest.NewClient(t, cluster.Client(t, many))
		clients = append(clients, c)
		for k := range 3 {
			group.Go(func() {
				p := &rwProgram{
					rwOracle: x, rand: rand.New(rand.NewPCG(uint64(i), uint64(k))), rw: c.NewReadWriteLock(name), hold: 3 * time.Millisecond,
					all: reentrant.WithWait(5 * time.Second),
				}
				for ctx.Err() == nil {
					p.step(owner(t.Context(), fmt.Sprint("o", i, k)))
				}
			})
		}
	}
	for n := range 6 {
		had := x.reads.Load() + x.writes.Load()
		cluster.StartMigration(t, name, cluster.Nodes[(n+1)%3]).Finish(t)
		redistest.Eventually(t, 20*time.Second, "the lock goes on", func() bool { return x.reads.Load()+x.writes.Load() > had+20 })
	}
	cancel()
	group.Wait()
	t.Logf("%d reads, %d writes", x.reads.Load(), x.writes.Load())
	for i, c := range clients {
		if s := c.Stats(); s.Losses > 0 {
			t.Errorf("client %d: %d losses", i, s.Losses)
		}
	}
	nothingLeft(t, cluster.Owner(t, name), name)
}
