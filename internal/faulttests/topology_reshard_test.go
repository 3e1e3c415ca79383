package faulttests

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// Slots go to and fro while several Clients count under locks in them, one of them
// write-behind: no step is lost, nobody loses the lock, and no node is flooded.
func slotsMoveUnderLoad(t *testing.T, cluster *redistest.Cluster) {
	const moves, goroutines = 12, 3
	names := inSlotsOf(t, cluster, cluster.Nodes[0], 3)
	clients := []*reentrant.Client{
		locktest.NewClient(t, cluster.Client(t)),
		locktest.NewClient(t, cluster.Client(t), locktest.WriteBehind),
		locktest.NewClient(t, cluster.Client(t), reentrant.WithHandoff(reentrant.Remote)),
	}
	// Held throughout, in a slot that moves.
	kept, err := clients[0].NewLock("kept:{" + names[0] + "}").Acquire(asHolder(t))
	must(t, err)

	began, before := time.Now(), allEvals(t, cluster)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	counts := make([]int, len(names)) // each guarded by its lock
	var turns sync.Map                // by name and worker, how often it has counted
	var group sync.WaitGroup
	for i, name := range names {
		for j, c := range clients {
			for k := range goroutines {
				group.Go(func() {
					n := 0
					for l := c.NewLock(name); ctx.Err() == nil; n++ {
						err := l.Do(t.Context(), func(context.Context) error { counts[i]++; return nil })
						if err != nil {
							t.Errorf("%s: %v", name, err)
							return
						}
					}
					turns.Store([3]int{i, j, k}, n)
				})
			}
		}
	}
	for n := range moves {
		name, to := names[n%len(names)], cluster.Nodes[(n+1+n/len(names))%3]
		from := cluster.Owner(t, name)
		if from == to {
			continue
		}
		m := cluster.StartMigration(t, name, to)
		if n < len(names) && redistest.AtLeast(t, "6.2") { // and take their time, if that can be seen
			refused := refusals(t, from)
			redistest.Eventually(t, 20*time.Second, "commands are refused", func() bool { return refusals(t, from) != refused })
		}
		m.Finish(t)
	}
	cancel()
	group.Wait()

	sum := make([]int, len(names))
	all := 0
	turns.Range(func(key, n any) bool {
		sum[key.([3]int)[0]] += n.(int)
		all += n.(int)
		return true
	})
	for i, name := range names {
		if counts[i] != sum[i] || sum[i] == 0 {
			t.Errorf("%s: counted to %d in %d turns", name, counts[i], sum[i])
		}
	}
	took, sent := time.Since(began), allEvals(t, cluster)-before
	t.Logf("%d turns and %d scripts in %v", all, sent, took)
	if float64(sent) > 6*float64(all)+50*float64(len(clients)*len(names))*took.Seconds() {
		t.Error("that is too many scripts")
	}
	for i, c := range clients {
		if s := c.Stats(); s.Losses > 0 || s.HandedOver == 0 && i < 2 {
			t.Errorf("client %d: %d losses, %d hand-offs", i, s.Losses, s.HandedOver)
		}
	}
	if ended(kept.Lost()) {
		t.Error("the lock that was held throughout is lost")
	}
	must(t, kept.Release(asHolder(t)))
}

// refusals is what the node says of how often it has sent commands elsewhere, or away.
func refusals(t *testing.T, node *redistest.Server) string {
	return node.Info(t, "errorstats", "errorstat_TRYAGAIN") + node.Info(t, "errorstats", "errorstat_ASK")
}

func allEvals(t *testing.T, cluster *redistest.Cluster) (n int) {
	for _, node := range cluster.Nodes {
		n += evals(t, node)
	}
	return n
}

// With write-behind a lock goes on inside the Client while its slot is on its way and every
// command is refused. The hash follows when the slot has arrived.
func behindWhileSlotMoves(t *testing.T, cluster *redistest.Cluster) {
	name := inSlotsOf(t, cluster, cluster.Nodes[0], 1)[0]
	c := locktest.NewClient(t, cluster.Client(t), locktest.WriteBehind)
	l := c.NewLock(name)
	hold, err := l.Acquire(asHolder(t))
	must(t, err)
	var queue []*locktest.Call
	for _, who := range []string{"first", "second", "third"} {
		queue = append(queue, locktest.CallFor(t, c, l, who))
	}
	m := cluster.StartMigration(t, name, cluster.Nodes[1])
	must(t, hold.Release(asHolder(t)))
	first := queue[0].Hold(t, 10*time.Second)
	must(t, first.Release(queue[0].Ctx))
	second := queue[1].Hold(t, 10*time.Second)
	if at := locktest.Held(t, cluster.Nodes[0], name); len(at) != 1 || at[hold.Owner()] != "1" {
		t.Errorf("at the source: %v, want still %s", at, hold.Owner())
	}
	m.Finish(t)
	follows(t, cluster.Nodes[1], name, second, "1")
	must(t, second.Release(queue[1].Ctx))
	third := queue[2].Hold(t, 10*time.Second)
	follows(t, cluster.Nodes[1], name, third, "1")
	must(t, third.Release(queue[2].Ctx))
	locktest.FreeWithin(t, cluster.Nodes[1], 10*time.Second, name)
	if s := c.Stats(); s.Losses > 0 || s.HandedOver != 3 {
		t.Errorf("%d losses, %d hand-offs", s.Losses, s.HandedOver)
	}
}
