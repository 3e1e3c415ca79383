//go:build interop

package redisson_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// TestFairLock shares Redisson's fair lock. Threads and goroutines stand in one line.
func TestFairLock(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		name string
		test func(*testing.T, *rig)
	}{
		{"Order", testFairOrder},
		{"OrderOf500", testFairOrderOf500},
		{"Exclusion", testFairExclusion},
		{"TryYields", testFairTryYields},
		{"DeadGo", testFairDeadGo},
		{"DeadJava", testFairDeadJava},
		{"ForceUnlock", testFairForce},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, r) })
	}
	t.Run("WhatIsLeft", func(t *testing.T) { r.wantClean(t) })
}

// lined waits until so many stand in the line of a fair lock.
func (r *rig) lined(t testing.TB, name string, n int) {
	t.Helper()
	redistest.Eventually(t, 10*time.Second, fmt.Sprint(n, " in the line"), func() bool {
		return r.at(t, name).Do(t, "LLEN", "redisson_lock_queue:{"+name+"}") == int64(n)
	})
}

// Forty waiters of two JVMs and two Clients come out in the order in which they were lined up.
func testFairOrder(t *testing.T, r *rig) { fairOrder(t, r, "fair:order", 40) }

// So do five hundred.
func testFairOrderOf500(t *testing.T, r *rig) { fairOrder(t, r, "fair:order:500", 500) }

func fairOrder(t *testing.T, r *rig, name string, waiters int) {
	t.Helper()
	clients := []*reentrant.Client{r.client(t), r.client(t)}
	first := reentrant.WithOwner(t.Context(), "first")
	must(t, clients[0].NewFairLock(name).Lock(first))
	var order, want []int
	came := make(chan int, waiters)
	var unlocks sync.WaitGroup
	for i := range waiters {
		want = append(want, i)
		if peer := []*peer{r.java, r.brisk}[i/2%2]; i%2 == 0 {
			locked := peer.begin(t, "fair block", name, 1000+i)
			unlocks.Go(func() {
				if a := await(t, locked, time.Minute); a.err != nil {
					t.Error(i, a.err)
				}
				came <- i
				peer.do(t, "fair unlock", name, 1000+i)
			})
		} else {
			lock, ctx := clients[i/2%2].NewFairLock(name), reentrant.WithOwner(t.Context(), strconv.Itoa(i))
			unlocks.Go(func() {
				if err := lock.Lock(ctx); err != nil {
					t.Error(i, err)
				}
				came <- i
				if err := lock.Unlock(ctx); err != nil {
					t.Error(i, err)
				}
			})
		}
		r.lined(t, name, i+1)
	}
	must(t, clients[0].NewFairLock(name).Unlock(first))
	unlocks.Wait()
	for range waiters {
		order = append(order, await(t, came, time.Minute))
	}
	if !slices.Equal(order, want) {
		t.Errorf("they came in the order %v", order)
	}
	r.lined(t, name, 0)
}

// Either side finds the lock of the other one taken, waits for it and is told of its release.
func testFairExclusion(t *testing.T, r *rig) {
	const name = "fair:exclusion"
	lock := r.client(t).NewFairLock(name)
	me := reentrant.WithOwner(t.Context(), "me")
	for range 3 {
		must(t, lock.Lock(me))
		r.java.want(t, false, "fair tryLock", name, 7, 0, -1)
		woken := r.java.begin(t, "fair block", name, 7)
		r.lined(t, name, 1)
		must(t, lock.Unlock(me))
		must(t, await(t, woken, wokenWithin).err)
		if ok, err := lock.TryLock(me, 0, 0); ok || err != nil {
			t.Fatalf("beside a thread of Redisson: %v, %v", ok, err)
		}
		locked := begin(func() error { return lock.Lock(me) })
		r.lined(t, name, 1)
		r.java.do(t, "fair unlock", name, 7)
		must(t, await(t, locked, wokenWithin).err)
		must(t, lock.Unlock(me))
	}
	r.hash(t, name, map[string]string{})
}

// A call that does not wait does not overtake those who do, on either side.
func testFairTryYields(t *testing.T, r *rig) {
	const name = "fair:try"
	lock := r.client(t).NewFairLock(name)
	me, you := reentrant.WithOwner(t.Context(), "me"), reentrant.WithOwner(t.Context(), "you")
	must(t, lock.Lock(me))
	short, cancel := context.WithCancel(you)
	waiting := begin(func() error { return lock.Lock(short) })
	r.lined(t, name, 1)
	r.java.want(t, false, "fair tryLock", name, 7, 0, -1)
	cancel()
	if a := await(t, waiting, time.Second); a.err == nil {
		t.Error("granted after the ctx has ended")
	}
	r.lined(t, name, 0)
	must(t, lock.Unlock(me))
	r.java.want(t, true, "fair tryLock", name, 7, 0, -1)
	r.java.do(t, "fair unlock", name, 7)
}

// A Go waiter that has died does not keep a thread of Redisson from the lock: another Go waiter drops it. Meanwhile the
// thread sends commands within bounds.
func testFairDeadGo(t *testing.T, r *rig) {
	const name = "fair:dead-go"
	lock := r.client(t).NewFairLock(name)
	me := reentrant.WithOwner(t.Context(), "me")
	must(t, lock.Lock(me))
	r.dead(t, name, "6f1c7e0c-5d1f-4d4e-9a55-0123456789ab:gone#1", time.Minute)
	woken := r.java.begin(t, "fair block", name, 7)
	r.lined(t, name, 2)
	must(t, lock.Unlock(me)) // the release finds that nobody hears for the dead one
	must(t, await(t, woken, wokenWithin).err)
	r.java.do(t, "fair unlock", name, 7)
	r.lined(t, name, 0)
}

// A thread of Redisson that has died does not keep a Go waiter from the lock for longer than its grace.
func testFairDeadJava(t *testing.T, r *rig) {
	const name = "fair:dead-java"
	lock := r.client(t).NewFairLock(name)
	me, you := reentrant.WithOwner(t.Context(), "me"), reentrant.WithOwner(t.Context(), "you")
	must(t, lock.Lock(me))
	r.dead(t, name, "0d2f4a9e-5d1f-4d4e-9a55-0123456789ab:17", time.Second) // its time is over soon
	locked := begin(func() error { return lock.Lock(you) })
	r.lined(t, name, 2)
	must(t, lock.Unlock(me))
	must(t, await(t, locked, 8*time.Second).err)
	must(t, lock.Unlock(you))
	r.lined(t, name, 0)
}

// dead puts somebody into the line who never comes.
func (r *rig) dead(t testing.TB, name, element string, left time.Duration) {
	t.Helper()
	s := r.at(t, name)
	s.Do(t, "RPUSH", "redisson_lock_queue:{"+name+"}", element)
	s.Do(t, "ZADD", "redisson_lock_timeout:{"+name+"}", time.Now().Add(left).UnixMilli(), element)
}

// A forced unlock passes the lock on to the first in the line, on the other side.
func testFairForce(t *testing.T, r *rig) {
	const name = "fair:force"
	lock := r.client(t).NewFairLock(name)
	me := reentrant.WithOwner(t.Context(), "me")
	must(t, lock.Lock(me))
	woken := r.java.begin(t, "fair block", name, 7)
	r.lined(t, name, 1)
	if freed, err := lock.ForceUnlock(me); !freed || err != nil {
		t.Fatal(freed, err)
	}
	must(t, await(t, woken, wokenWithin).err)
	if err := lock.Unlock(me); err == nil {
		t.Error("the unlock of a forced lock succeeds")
	}
	locked := begin(func() error { return lock.Lock(me) })
	r.lined(t, name, 1)
	r.java.do(t, "fair forceUnlock", name)
	must(t, await(t, locked, 8*time.Second).err)
	must(t, lock.Unlock(me))
}
