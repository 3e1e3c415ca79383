package reentrant_test

import (
	"net"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// A client of Redisson may subscribe at a replica (subscriptionMode SLAVE), where the
// master counts no subscribers. It hears of a release all the same.
func TestReleaseIsHeardAtAReplica(t *testing.T) {
	ctx := t.Context()
	master, replica := redistest.Start(t), redistest.Start(t)
	host, port, err := net.SplitHostPort(master.Addr())
	must(t, err)
	replica.Do(t, "REPLICAOF", host, port)
	redistest.Eventually(t, 10*time.Second, "the replica to follow", func() bool {
		return replica.Info(t, "replication", "master_link_status") == "up"
	})
	redisson := replica.Client(t).Subscribe(ctx, "redisson_lock__channel:{l}")
	defer redisson.Close()
	_, err = redisson.Receive(ctx)
	must(t, err)
	l := newClient(t, master.Client(t)).NewLock("l")
	must(t, l.Lock(ctx))
	must(t, l.Unlock(ctx))
	if _, err := redisson.ReceiveTimeout(ctx, 5*time.Second); err != nil {
		t.Errorf("no message: %v", err)
	}
}

// With WithReplicaAcks no hand-off is write-behind: each is confirmed by Redis and the
// replica, and when that is silent the waiter is told so instead of being made the holder.
func TestHandoffsAskTheReplica(t *testing.T) {
	t.Parallel()
	const goroutines, rounds = 4, 20
	master := redistest.Start(t)
	replica := redistest.Start(t, redistest.WithReplicaOf(master))
	redistest.Eventually(t, 20*time.Second, "the replica to follow", func() bool {
		return replica.Info(t, "replication", "master_link_status") == "up"
	})
	c := newClient(t, master.Client(t), writeBehind, reentrant.WithReplicaAcks(1, 2*time.Second))
	contend(t, "l", []*reentrant.Client{c}, goroutines, rounds)
	stats := c.Stats()
	waits := calls(t, master, "wait")
	t.Logf("%d grants, %d of them hand-offs, %d WAITs", stats.Acquired, stats.HandedOver, waits)
	if stats.Acquired != goroutines*rounds || stats.HandedOver == 0 || waits < goroutines*rounds {
		t.Errorf("%d grants, %d of them hand-offs, with %d WAITs", stats.Acquired, stats.HandedOver, waits)
	}

	l := c.NewLock("l")
	hold, err := l.Acquire(asHolder(t))
	must(t, err)
	next := callFor(t, c, l, "next")
	replica.Stop()
	must(t, hold.Release(asHolder(t)))
	if got := inTime(t, 20*time.Second, "the call ends", next.granted); got != nil {
		t.Error("granted without the replica")
	}
	wants(t, next.err, reentrant.ErrReplicas)
	freeWithin(t, master, 20*time.Second, "l")
	replica.Continue()
	must(t, l.Lock(next.ctx))
	must(t, l.Unlock(next.ctx))
}
