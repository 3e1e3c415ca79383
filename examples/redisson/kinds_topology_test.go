//go:build interop

package redisson_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// TestKindsInCluster shares fair and read-write locks on three masters, where both sides use sharded pub/sub by default.
//
// No thread of Redisson waits to read here: the slower the JVM, the more often such a thread does not hear that a write has
// ended, and waits for the rest of the lease that it was told. On one server TestReadWriteLock has such waits.
func TestKindsInCluster(t *testing.T) {
	redistest.Needs(t, "7.0", "sharded pub/sub")
	r := &rig{cluster: redistest.StartCluster(t, 3)}
	nodes := strings.Join(r.cluster.Addrs, ",")
	r.java, r.brisk = launch(t, "--cluster", nodes), launch(t, "--cluster", nodes)
	for _, c := range []struct {
		name string
		test func(*testing.T, *rig)
	}{
		{"Together", testReadersTogether},
		{"GoReaderWakes", testGoReaderWakes},
		{"JavaWriterWakes", testJavaWriterWakes},
		{"MixedLoad", testReadWriteLoad},
		{"FairOrder", testFairOrder},
		{"FairExclusion", testFairExclusion},
		{"SlotMovesUnderWriter", testSlotMovesUnderWriter},
		{"SlotMovesUnderFair", testSlotMovesUnderFair},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, r) })
	}
	t.Run("WhatIsLeft", func(t *testing.T) { r.wantClean(t) })
}

// The slot of a lock that Redisson writes moves while Go waits to read and to write.
func testSlotMovesUnderWriter(t *testing.T, r *rig) {
	const name = "rw:moves"
	c := r.client(t)
	rw := c.NewReadWriteLock(name)
	for _, side := range []*reentrant.Lock{rw.Read(), rw.Write()} {
		me := reentrant.WithOwner(t.Context(), "waiter")
		r.java.do(t, "write lock", name, 7, longLease.Milliseconds())
		granted := begin(func() error { return side.Lock(me) })
		r.waitUntilGoWaitsFor(t, name, c)
		r.cluster.MoveSlot(t, name, r.elsewhere(t, name))
		r.java.do(t, "write unlock", name, 7)
		must(t, await(t, granted, answerWithin).err)
		must(t, side.Unlock(me))
	}
	r.hash(t, name, map[string]string{})
}

// The slot of a fair lock that Redisson has moves while Go waits.
func testSlotMovesUnderFair(t *testing.T, r *rig) {
	const name = "fair:moves"
	lock := r.client(t).NewFairLock(name)
	me := reentrant.WithOwner(t.Context(), "waiter")
	r.java.do(t, "fair lock", name, 7, longLease.Milliseconds())
	granted := begin(func() error { return lock.Lock(me) })
	r.lined(t, name, 1)
	r.cluster.MoveSlot(t, name, r.elsewhere(t, name))
	r.java.do(t, "fair unlock", name, 7)
	must(t, await(t, granted, answerWithin).err)
	must(t, lock.Unlock(me))
	r.lined(t, name, 0)
}

// TestSubscriptionModeSlave has Redisson subscribe at a replica, where the master counts nobody. All kinds wake it, and it
// wakes them.
func TestSubscriptionModeSlave(t *testing.T) {
	master := redistest.Start(t)
	replica := redistest.Start(t, redistest.WithReplicaOf(master))
	replica.Follows(t, master)
	r := &rig{server: master, java: startPeer(t, master.Addr(), "--replica", replica.Addr())}
	c := r.client(t)
	rw := c.NewReadWriteLock("rw")
	for _, k := range []struct {
		name, java, channel string
		lock                *reentrant.Lock
		javaHolds           string
	}{
		{"plain", "block", "redisson_lock__channel:{plain}", c.NewLock("plain"), "lock"},
		{"fair", "fair block", "redisson_lock__channel:{fair}*", c.NewFairLock("fair"), "fair lock"},
		{"rw", "write block", "redisson_rwlock:{rw}", rw.Read(), "write lock"},
	} {
		t.Run(strings.ReplaceAll(k.java, " ", "-"), func(t *testing.T) {
			me := reentrant.WithOwner(t.Context(), "me")
			unlock := func(how string) string {
				return strings.Replace(strings.Replace(how, "block", "unlock", 1), " lock", " unlock", 1)
			}
			for range 3 {
				must(t, k.lock.Lock(me))
				woken := r.java.begin(t, k.java, k.name, 7)
				redistest.Eventually(t, 10*time.Second, "Redisson to subscribe at the replica", func() bool {
					return len(replica.Do(t, "PUBSUB", "CHANNELS", k.channel).([]any)) > 0
				})
				if k.name == "fair" {
					r.lined(t, k.name, 1)
				}
				must(t, k.lock.Unlock(me))
				must(t, await(t, woken, 5*time.Second).err)
				r.java.do(t, unlock(k.java), k.name, 7)
			}
			r.java.do(t, k.javaHolds, k.name, 7)
			granted := begin(func() error { return k.lock.Lock(me) })
			redistest.Eventually(t, 10*time.Second, "Go waits", func() bool { return c.Stats().Waiting == 1 })
			r.java.do(t, strings.TrimPrefix(unlock(" "+k.javaHolds), " "), k.name, 7)
			must(t, await(t, granted, 8*time.Second).err)
			must(t, k.lock.Unlock(me))
		})
	}
}
