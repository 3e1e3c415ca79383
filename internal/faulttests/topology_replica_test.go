package faulttests

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
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
	replica.Follows(t, master)
	redisson := replica.Client(t).Subscribe(ctx, "redisson_lock__channel:{l}")
	defer redisson.Close()
	_, err = redisson.Receive(ctx)
	must(t, err)
	l := locktest.NewClient(t, master.Client(t)).NewLock("l")
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
	replica.Follows(t, master)
	c := locktest.NewClient(t, master.Client(t), locktest.WriteBehind, reentrant.WithReplicaAcks(1, 2*time.Second))
	locktest.Contend(t, "l", []*reentrant.Client{c}, goroutines, rounds)
	stats := c.Stats()
	waits := calls(t, master, "wait")
	t.Logf("%d grants, %d of them hand-offs, %d WAITs", stats.Acquired, stats.HandedOver, waits)
	if stats.Acquired != goroutines*rounds || stats.HandedOver == 0 || waits < goroutines*rounds {
		t.Errorf("%d grants, %d of them hand-offs, with %d WAITs", stats.Acquired, stats.HandedOver, waits)
	}

	l := c.NewLock("l")
	hold, err := l.Acquire(asHolder(t))
	must(t, err)
	next := locktest.CallFor(t, c, l, "next")
	replica.Stop()
	must(t, hold.Release(asHolder(t)))
	if got := locktest.InTime(t, 20*time.Second, "the call ends", next.Granted); got != nil {
		t.Error("granted without the replica")
	}
	wants(t, next.Err, reentrant.ErrReplicas)
	locktest.FreeWithin(t, master, 20*time.Second, "l")
	replica.Continue()
	must(t, l.Lock(next.Ctx))
	must(t, l.Unlock(next.Ctx))
}

// A replica is missing and each waiter is refused for that, one ack timeout after the
// other. The release waits for the first of them only, which is its own command.
func TestUnlockLeavesTheRefusedBehind(t *testing.T) {
	t.Parallel()
	const ack, waiters = time.Second, 5
	master := redistest.Start(t)
	replica := redistest.Start(t, redistest.WithReplicaOf(master))
	replica.Follows(t, master)
	c := faultClient(t, master.Client(t), reentrant.WithReplicaAcks(1, ack))
	l := c.NewLock("l")
	hold, err := l.Acquire(owner(t.Context(), "me"))
	must(t, err)
	calls := make(chan error, waiters)
	for i := range waiters {
		go func() { calls <- l.Lock(owner(t.Context(), fmt.Sprint("waiter", i))) }()
	}
	redistest.Eventually(t, 5*time.Second, "all wait", func() bool { return c.Stats().Waiting == waiters })
	replica.Stop()
	refused := 0
	released := make(chan error, 1)
	go func() { released <- hold.Release(owner(t.Context(), "me")) }()
	for done := false; !done; {
		select {
		case err := <-calls:
			wants(t, err, reentrant.ErrReplicas)
			refused++
		case err := <-released:
			must(t, err)
			done = true
		}
	}
	if refused > 2 { // the first, and perhaps the second before this goroutine was awake
		t.Errorf("the release took as long as it took to refuse %d of %d waiters", refused, waiters)
	}
	for range waiters - refused {
		wants(t, locktest.InTime(t, 20*time.Second, "all are refused", calls), reentrant.ErrReplicas)
	}
	replica.Continue()
	locktest.FreeWithin(t, master, 20*time.Second, "l")
}
