package faulttests

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

func TestCluster(t *testing.T) {
	const lease = 6 * time.Second // none of sixty may be lost on a machine that is busy
	cluster := redistest.StartCluster(t, 3)
	var clients []*reentrant.Client
	for range 3 {
		clients = append(clients, locktest.NewClient(t, cluster.Client(t), reentrant.WithLease(lease)))
	}
	// Names in many slots, so that every node has some.
	for i := range 12 {
		locktest.Contend(t, fmt.Sprintf("order-%d", i), clients, 3, 25)
	}
	locktest.Contend(t, "order:{tag}:1", clients, 3, 25)

	// Held in many slots: the watchdog renews slot by slot, and leaves none out.
	var holds []*reentrant.Hold
	var until []time.Time
	for i := range 60 {
		hold, err := clients[0].NewLock(fmt.Sprintf("held-%d", i)).Acquire(t.Context())
		must(t, err)
		holds, until = append(holds, hold), append(until, hold.ValidUntil())
	}
	for i, hold := range holds {
		redistest.Eventually(t, 2*lease, "each lock to be renewed", func() bool { return hold.ValidUntil().After(until[i]) })
	}
	for _, hold := range holds {
		must(t, hold.Release(t.Context()))
	}
}

func TestSentinel(t *testing.T) {
	sentinel := redistest.StartSentinel(t)
	locktest.Contend(t, "order", []*reentrant.Client{
		locktest.NewClient(t, sentinel.Client(t)), locktest.NewClient(t, sentinel.Client(t)),
	}, 3, 25)
}

func TestReplicaAcks(t *testing.T) {
	ctx := t.Context()
	master := redistest.Start(t)
	replica := redistest.Start(t, redistest.WithReplicaOf(master))
	admin := master.Client(t)
	replica.Follows(t, master)
	c := locktest.NewClient(t, master.Client(t), reentrant.WithReplicaAcks(1, 500*time.Millisecond))
	l := c.NewLock("order")
	must(t, l.Lock(ctx))
	must(t, l.Unlock(ctx))
	locktest.Contend(t, "order", []*reentrant.Client{c}, 3, 25)

	replica.Stop()
	defer replica.Continue()
	err := l.Lock(ctx)
	var short *reentrant.ReplicasError
	if !errors.Is(err, reentrant.ErrReplicas) || !errors.Is(err, reentrant.ErrNotAcquired) ||
		!errors.As(err, &short) || short.Got != 0 || short.Want != 1 {
		t.Fatalf("with the replica stopped: %v", err)
	}
	if n, err := admin.Exists(ctx, "order").Result(); n != 0 || err != nil {
		t.Fatalf("the lock was left: %d, %v", n, err)
	}
}
