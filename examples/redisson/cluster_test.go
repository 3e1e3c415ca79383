//go:build interop

package redisson_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// clusterWakes is how often each way of waking is measured on each node.
const clusterWakes = 4

// TestCluster has both sides on a cluster of three masters, where both use sharded pub/sub
// by default.
func TestCluster(t *testing.T) {
	redistest.Needs(t, "7.0", "sharded pub/sub")
	r := &rig{cluster: redistest.StartCluster(t, 3)}
	nodes := strings.Join(r.cluster.Addrs, ",")
	r.java = launch(t, "--cluster", nodes)
	r.brisk = launch(t, "--cluster", nodes, "--watchdog", fmt.Sprint(briskLease.Milliseconds()))
	for _, c := range []struct {
		name string
		test func(*testing.T, *rig)
	}{
		{"Bytes", testBytes},
		{"Payloads", testShardedPayloads},
		{"GoWakesJava", testGoWakesJavaOnEachNode},
		{"JavaWakesGo", testJavaWakesGoOnEachNode},
		{"NestedCounts", testNestedCounts},
		{"Watchdogs", testWatchdogs},
		{"LeaseExpiry", testLeaseExpiry},
		{"TimedWaits", testTimedWaits},
		{"ForceUnlock", testForceUnlock},
		{"Tokens", testTokens},
		{"MutualExclusion", testMutualExclusion},
		{"SlotMovesUnderJava", testSlotMovesUnderJava},
		{"SlotMovesUnderGo", testSlotMovesUnderGo},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, r) })
	}
	t.Run("WhatIsLeft", func(t *testing.T) { r.wantClean(t) })
	t.Run("NobodyStarves", func(t *testing.T) {
		clients := make([]*reentrant.Client, workers)
		for i := range clients {
			clients[i] = r.client(t)
		}
		contest(t, r, "fairness", clients).report(t)
	})
}

// nameAt returns a name of a lock that the node has.
func (r *rig) nameAt(t testing.TB, node *redistest.Server, base string) string {
	t.Helper()
	for i := 0; ; i++ {
		if name := fmt.Sprintf("%s:%d", base, i); r.cluster.Owner(t, name) == node {
			return name
		}
	}
}

// Both sides publish by SPUBLISH, and so a subscriber by SSUBSCRIBE hears both.
func testShardedPayloads(t *testing.T, r *rig) {
	const name = "payloads"
	sub := r.at(t, name).Client(t).SSubscribe(t.Context(), channel(name))
	defer sub.Close()
	_, err := sub.Receive(t.Context())
	must(t, err)
	told := sub.Channel()
	lock := r.client(t).NewLock(name)
	must(t, lock.Lock(t.Context()))
	must(t, lock.Unlock(t.Context()))
	wantMessage(t, told, name, "-0")
	r.java.do(t, "lock", name, 7)
	r.java.do(t, "unlock", name, 7)
	wantMessage(t, told, name, "0")
}

// Redisson has no poll, and the lease is a minute: what wakes it is the message.
func testGoWakesJavaOnEachNode(t *testing.T, r *rig) {
	c := r.client(t)
	for _, how := range waits {
		var took []time.Duration
		for _, node := range r.cluster.Nodes {
			for i := range clusterWakes {
				name := r.nameAt(t, node, fmt.Sprintf("go-wakes-java:%s:%d", how, i))
				lock := c.NewLock(name)
				must(t, lock.LockLease(t.Context(), longLease))
				granted := r.java.begin(t, how, name, 7, longLease.Milliseconds())
				r.waitUntilJavaWaits(t, name, 1)
				began := time.Now()
				must(t, lock.Unlock(t.Context()))
				a := await(t, granted, wokenWithin)
				must(t, a.err)
				took = append(took, a.at.Sub(began))
				r.java.do(t, "unlock", name, 7)
			}
		}
		t.Logf("Go's Unlock to Redisson's %s: %s", how, spread(took))
	}
}

func testJavaWakesGoOnEachNode(t *testing.T, r *rig) {
	ctx := reentrant.WithOwner(t.Context(), "waiter")
	c := r.client(t)
	var took []time.Duration
	for _, node := range r.cluster.Nodes {
		for i := range clusterWakes {
			name := r.nameAt(t, node, fmt.Sprintf("java-wakes-go:%d", i))
			lock := c.NewLock(name)
			r.java.do(t, "lock", name, 7, longLease.Milliseconds())
			granted := begin(func() error { return lock.LockLease(ctx, longLease) })
			r.waitUntilGoWaits(t, name, c)
			began := time.Now()
			r.java.do(t, "unlock", name, 7)
			a := await(t, granted, wokenWithin)
			must(t, a.err)
			took = append(took, a.at.Sub(began))
			must(t, lock.Unlock(ctx))
		}
	}
	t.Logf("Redisson's unlock to Go's Lock: %s", spread(took))
	if w := c.Stats().WakeUps; w.Message != uint64(len(took)) || w.TTL+w.Poll != 0 {
		t.Errorf("%d waits ended because of %+v", len(took), w)
	}
}

// elsewhere is a node that does not have the lock.
func (r *rig) elsewhere(t testing.TB, name string) *redistest.Server {
	t.Helper()
	if r.at(t, name) == r.cluster.Nodes[0] {
		return r.cluster.Nodes[1]
	}
	return r.cluster.Nodes[0]
}

// The slot of a lock that Redisson holds moves while Go waits: Go listens at the new node,
// and is woken by Redisson's release, which goes there as well.
func testSlotMovesUnderJava(t *testing.T, r *rig) {
	const name = "moves:java"
	ctx := reentrant.WithOwner(t.Context(), "waiter")
	c := r.client(t)
	lock := c.NewLock(name)
	r.java.do(t, "lock", name, 7, longLease.Milliseconds())
	granted := begin(func() error { return lock.LockLease(ctx, longLease) })
	r.waitUntilGoWaits(t, name, c)
	to := r.elsewhere(t, name)
	r.cluster.MoveSlot(t, name, to)
	own := channel(name) + ":" + c.ID()
	redistest.Eventually(t, 20*time.Second, "Go to listen at the new node", func() bool {
		return to.Do(t, "PUBSUB", "SHARDNUMSUB", own, channel(name)).([]any)[1] == int64(1) && r.listening(t, channel(name)) == 1
	})
	began := time.Now()
	r.java.do(t, "unlock", name, 7)
	a := await(t, granted, answerWithin)
	must(t, a.err)
	woken := c.Stats().WakeUps
	t.Logf("Redisson's unlock to Go's Lock after the slot has moved: %v, woken by %+v", a.at.Sub(began), woken)
	if woken.Message == 0 {
		t.Error("no message woke it")
	}
	must(t, lock.Unlock(ctx))
}

// The slot of a lock that Go holds moves while Redisson waits. Redisson may miss the
// release, and has the lock at the end of the lease that it was told at the latest.
func testSlotMovesUnderGo(t *testing.T, r *rig) {
	const lease = 3 * time.Second
	for i, how := range waits {
		name := fmt.Sprintf("moves:go:%d", i)
		lock := r.client(t).NewLock(name)
		ctx := reentrant.WithOwner(t.Context(), "holder")
		must(t, lock.LockLease(ctx, lease))
		told := time.Now()
		granted := r.java.begin(t, how, name, 7, longLease.Milliseconds())
		r.waitUntilJavaWaits(t, name, 1)
		to := r.elsewhere(t, name)
		r.cluster.MoveSlot(t, name, to)
		must(t, lock.Unlock(ctx))
		released := time.Now()
		a := await(t, granted, lease+answerWithin)
		must(t, a.err)
		t.Logf("Redisson's %s has the lock %v after Go's Unlock, %v after the lease of %v began",
			how, a.at.Sub(released), a.at.Sub(told), lease)
		r.hash(t, name, map[string]string{r.java.field(7): "1"})
		r.java.do(t, "unlock", name, 7)
	}
}
