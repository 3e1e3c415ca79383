//go:build interop

package redisson_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/lua"
	"github.com/redlatch/redlatch/reentrant"
)

// TestReadWriteLock shares Redisson's read-write lock. Both sides exclude each other, read together, and wake each
// other.
func TestReadWriteLock(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		name string
		test func(*testing.T, *rig)
	}{
		{"Together", testReadersTogether},
		{"GoWriterWakes", testGoWriterWakes},
		{"GoReaderWakes", testGoReaderWakes},
		{"JavaWriterWakes", testJavaWriterWakes},
		{"Downgrades", testDowngrades},
		{"DeadReaders", testDeadReaders},
		{"ForceUnlock", testReadWriteForce},
		{"MixedLoad", testReadWriteLoad},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, r) })
	}
	t.Run("WhatIsLeft", func(t *testing.T) { r.wantClean(t) })
}

func rwChannel(name string) string { return "redisson_rwlock:{" + name + "}" }

// waitUntilJavaWaitsFor is waitUntilJavaWaits for a read-write lock.
func (r *rig) waitUntilJavaWaitsFor(t testing.TB, name string, n int64) {
	t.Helper()
	redistest.Eventually(t, 10*time.Second, "Redisson to subscribe", func() bool {
		return r.listening(t, rwChannel(name))-r.listening(t, "redlatch_listeners:{"+name+"}") >= n
	})
}

// waitUntilGoWaitsFor returns once the Client is registered, to read or to write.
func (r *rig) waitUntilGoWaitsFor(t testing.TB, name string, c *reentrant.Client) {
	t.Helper()
	k := lua.RWKeysOf(name, c.ID())
	redistest.Eventually(t, 10*time.Second, "the Go waiter to be registered", func() bool {
		admin := r.at(t, name).Admin()
		return admin.ZScore(context.Background(), k.Readers(), c.ID()).Err() == nil || admin.ZScore(context.Background(), k.Waiters(), c.ID()).Err() == nil
	})
}

// Readers of both sides are in the hash together. A writer of either side waits for those of the other one.
func testReadersTogether(t *testing.T, r *rig) {
	const name = "rw:together"
	rw := r.client(t).NewReadWriteLock(name)
	me := reentrant.WithOwner(t.Context(), "me")
	must(t, rw.RLock(me))
	r.java.want(t, true, "read tryLock", name, 7, 0, -1)
	r.java.want(t, true, "read isLocked", name)
	r.java.want(t, false, "write tryLock", name, 8, 0, -1)
	must(t, rw.RUnlock(me))
	if ok, err := rw.TryLock(me, 0, 0); ok || err != nil {
		t.Fatalf("a Go writer beside a Java reader: %v, %v", ok, err)
	}
	r.java.want(t, true, "read held", name, 7)
	must(t, rw.RLock(me))
	r.java.do(t, "read unlock", name, 7)
	r.java.want(t, false, "write tryLock", name, 8, 0, -1)
	must(t, rw.RUnlock(me))
	r.hash(t, name, map[string]string{})

	// Redisson counts the holds of a thread, and has a marker for each.
	r.java.do(t, "read lock", name, 7)
	r.java.do(t, "read lock", name, 7)
	must(t, rw.RLock(me))
	must(t, rw.RUnlock(me))
	r.hash(t, name, map[string]string{"mode": "read", r.java.field(7): "2"})
	r.java.do(t, "read unlock", name, 7)
	r.java.do(t, "read unlock", name, 7)
	r.hash(t, name, map[string]string{})
}

// A Go writer wakes all of Redisson's readers.
func testGoWriterWakes(t *testing.T, r *rig) {
	const name = "rw:go-wakes"
	rw := r.client(t, reentrant.WithLease(longLease)).NewReadWriteLock(name)
	me := reentrant.WithOwner(t.Context(), "me")
	for range 5 {
		must(t, rw.Lock(me))
		var woken []<-chan answer
		for i := range 4 {
			woken = append(woken, r.java.begin(t, "read block", name, 20+i))
		}
		woken = append(woken, r.brisk.begin(t, "read block", name, 30))
		r.waitUntilJavaWaitsFor(t, name, 2)
		must(t, rw.Unlock(me))
		for i, w := range woken {
			if a := await(t, w, 5*time.Second); a.err != nil {
				t.Errorf("reader %d: %v", i, a.err)
			}
		}
		for i := range 4 {
			r.java.do(t, "read unlock", name, 20+i)
		}
		r.brisk.do(t, "read unlock", name, 30)
	}
}

// The last Go reader wakes a writer of Redisson.
func testGoReaderWakes(t *testing.T, r *rig) {
	const name = "rw:go-reader-wakes"
	rw := r.client(t, reentrant.WithLease(longLease)).NewReadWriteLock(name)
	me := reentrant.WithOwner(t.Context(), "me")
	must(t, rw.RLock(me))
	woken := r.java.begin(t, "write block", name, 9)
	r.waitUntilJavaWaitsFor(t, name, 1)
	must(t, rw.RUnlock(me))
	must(t, await(t, woken, wokenWithin).err)
	r.hash(t, name, map[string]string{"mode": "write", r.java.field(9) + ":write": "1"})
	r.java.do(t, "write unlock", name, 9)
}

// Redisson's releases wake Go readers and writers.
func testJavaWriterWakes(t *testing.T, r *rig) {
	const name = "rw:java-wakes"
	c := r.client(t)
	rw := c.NewReadWriteLock(name)
	me := reentrant.WithOwner(t.Context(), "me")
	r.java.do(t, "write lock", name, 7, longLease.Milliseconds())
	read := begin(func() error { return rw.RLock(me) })
	r.waitUntilGoWaitsFor(t, name, c)
	r.java.do(t, "write unlock", name, 7)
	must(t, await(t, read, wokenWithin).err)
	must(t, rw.RUnlock(me))

	r.java.do(t, "read lock", name, 7, longLease.Milliseconds())
	written := begin(func() error { return rw.Lock(me) })
	r.waitUntilGoWaitsFor(t, name, c)
	r.java.want(t, true, "read tryLock", name, 8, 0, -1) // the barrier is for Go
	r.java.do(t, "read unlock", name, 8)
	r.java.do(t, "read unlock", name, 7)
	must(t, await(t, written, wokenWithin).err)
	r.java.want(t, false, "read tryLock", name, 8, 0, -1)
	must(t, rw.Unlock(me))
}

// A writer of either side goes on as a reader, and then readers of the other side come in.
func testDowngrades(t *testing.T, r *rig) {
	const name = "rw:downgrade"
	rw := r.client(t).NewReadWriteLock(name)
	me := reentrant.WithOwner(t.Context(), "me")
	must(t, rw.Lock(me))
	must(t, rw.RLock(me))
	woken := r.java.begin(t, "read block", name, 7)
	r.waitUntilJavaWaitsFor(t, name, 1)
	must(t, rw.Unlock(me))
	must(t, await(t, woken, wokenWithin).err)
	r.java.want(t, false, "write tryLock", name, 8, 0, -1)
	must(t, rw.RUnlock(me))
	r.java.do(t, "read unlock", name, 7)

	r.java.do(t, "write lock", name, 7)
	r.java.do(t, "read lock", name, 7)
	if ok, err := rw.TryRLock(me, 0, 0); ok || err != nil {
		t.Fatalf("a reader beside Redisson's writer that reads: %v, %v", ok, err)
	}
	r.java.do(t, "write unlock", name, 7)
	if ok, err := rw.TryRLock(me, 0, 0); !ok || err != nil {
		t.Fatalf("a reader beside Redisson's reader: %v, %v", ok, err)
	}
	r.java.do(t, "read unlock", name, 7)
	must(t, rw.RUnlock(me))
	r.hash(t, name, map[string]string{})
}

// A reader that has died is in the way for its lease, whoever else reads meanwhile.
func testDeadReaders(t *testing.T, r *rig) {
	const name = "rw:dead"
	rw := r.client(t).NewReadWriteLock(name)
	me, w := reentrant.WithOwner(t.Context(), "me"), reentrant.WithOwner(t.Context(), "w")
	r.java.do(t, "read lock", name, 7, 1000) // never unlocked
	must(t, rw.RLock(me))
	marker := "{" + name + "}:" + r.java.field(7) + ":rwlock_timeout:1"
	redistest.Eventually(t, 10*time.Second, "the lease of Redisson's reader to end", func() bool {
		return r.at(t, name).Do(t, "EXISTS", marker).(int64) == 0
	})
	must(t, rw.RUnlock(me))
	if ok, err := rw.TryLock(w, 0, 0); !ok || err != nil {
		t.Fatalf("a writer beside a dead reader: %v, %v", ok, err)
	}
	must(t, rw.Unlock(w))

	must(t, rw.Read().LockLease(me, time.Second)) // never unlocked
	r.java.do(t, "read lock", name, 7)
	k := lua.RWKeysOf(name, "")
	for _, key := range r.server.Do(t, "KEYS", k.Marker("*")).([]any) {
		if key != marker {
			redistest.Eventually(t, 10*time.Second, "the lease of Go's reader to end", func() bool {
				return r.at(t, name).Do(t, "EXISTS", key).(int64) == 0
			})
		}
	}
	r.java.do(t, "read unlock", name, 7)
	r.java.want(t, true, "write tryLock", name, 8, 0, -1)
	r.java.do(t, "write unlock", name, 8)
}

// Each side frees what the other one has, of the mode that is meant.
func testReadWriteForce(t *testing.T, r *rig) {
	const name = "rw:force"
	rw := r.client(t).NewReadWriteLock(name)
	me := reentrant.WithOwner(t.Context(), "me")
	r.java.do(t, "read lock", name, 7, 60_000)
	if freed, err := rw.Write().ForceUnlock(me); freed || err != nil {
		t.Fatal(freed, err)
	}
	if freed, err := rw.Read().ForceUnlock(me); !freed || err != nil {
		t.Fatal(freed, err)
	}
	hold, err := rw.Write().Acquire(me)
	must(t, err)
	r.java.want(t, false, "read forceUnlock", name)
	r.java.want(t, true, "write forceUnlock", name)
	if err := hold.Release(me); err == nil {
		t.Error("the writer has not heard of it")
	}
}

// Writers of both sides raise one number, and readers of Go never see it change during a read.
func testReadWriteLoad(t *testing.T, r *rig) {
	const (
		name    = "rw:load"
		key     = "rw:load:number"
		workers = 2 // of each side
		rounds  = 100
	)
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	rdb := r.redis(t)
	must(t, rdb.Set(ctx, key, 0, 0).Err())
	t.Cleanup(func() { rdb.Del(context.Background(), key) })
	fromJava := r.java.begin(t, "write count-up", name, workers, 0, rounds, key)
	readJava := r.brisk.begin(t, "read take-turns", name, 2, 2, 2000)
	clients := []*reentrant.Client{r.client(t), r.client(t)}
	var group sync.WaitGroup
	writing, done := context.WithCancel(ctx)
	for i := range workers {
		group.Go(func() {
			rw := clients[i%2].NewReadWriteLock(name)
			me := reentrant.WithOwner(ctx, fmt.Sprint("w", i))
			for range rounds {
				if err := rw.Write().Do(me, func(ctx context.Context) error {
					n, err := rdb.Get(ctx, key).Int()
					if err != nil {
						return err
					}
					return rdb.Set(ctx, key, n+1, 0).Err()
				}); err != nil {
					t.Errorf("writer %d: %v", i, err)
					return
				}
			}
		})
	}
	var readers sync.WaitGroup
	for i := range 4 {
		readers.Go(func() {
			rw := clients[i%2].NewReadWriteLock(name)
			me, reads := reentrant.WithOwner(ctx, fmt.Sprint("r", i)), 0
			for ; writing.Err() == nil; reads++ {
				if err := rw.Read().Do(me, func(ctx context.Context) error {
					before, err := rdb.Get(ctx, key).Result()
					if err != nil {
						return err
					}
					after, err := rdb.Get(ctx, key).Result()
					if before != after {
						t.Errorf("a read saw %s and %s", before, after)
					}
					return err
				}); err != nil {
					t.Errorf("reader %d: %v", i, err)
					return
				}
			}
			t.Logf("reader %d: %d reads", i, reads)
		})
	}
	group.Wait()
	must(t, await(t, fromJava, 80*time.Second).err)
	done()
	readers.Wait()
	must(t, await(t, readJava, 60*time.Second).err)
	got, err := rdb.Get(ctx, key).Result()
	must(t, err)
	if want := strconv.Itoa(2 * workers * rounds); got != want {
		t.Errorf("counted to %s, want %s", got, want)
	}
}
