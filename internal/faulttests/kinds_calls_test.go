package faulttests

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// Calls for both sides of read-write locks and for fair locks, whose ctx ends at a random moment: each returns at once, and
// nothing of them stays behind, not in a line and not as a barrier.
func TestFault39KindsCancelStorm(t *testing.T) {
	t.Parallel()
	const goroutines, rounds = 24, 80
	seed := uint64(time.Now().UnixNano())
	noise, s := listenToNoise(t), redistest.Start(t)
	clients := []*reentrant.Client{faultClient(t, s.Client(t)), faultClient(t, s.Client(t))}
	kinds := locktest.Renewed(locktest.OtherKinds...)
	var late latencies
	var cancelled, held atomic.Int64
	var group sync.WaitGroup
	for g := range goroutines {
		group.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(g)))
			for range rounds {
				k := kinds[random.IntN(len(kinds))]
				name := fmt.Sprint("storm of read-write ", random.IntN(2))
				if k.Name == locktest.Fair.Name {
					name = fmt.Sprint("storm of fair ", random.IntN(2))
				}
				returned, ok := cancelAtRandom(t, random, k.Held(clients[random.IntN(2)], name))
				if returned >= 0 {
					cancelled.Add(1)
					late.add(returned)
				}
				if ok {
					held.Add(1)
				}
			}
		})
	}
	group.Wait()
	t.Logf("seed %d: %d calls cut short, %d granted; returned after the cancellation: %v", seed, cancelled.Load(), held.Load(), &late)
	if worst := late.at(1); worst > noise.allow(500*time.Millisecond) {
		t.Errorf("seed %d: a call returned %v after its cancellation", seed, worst)
	}
	for i, c := range clients {
		redistest.Eventually(t, 10*time.Second, "nobody holds or waits", func() bool {
			st := c.Stats()
			return st.Held == 0 && st.Waiting == 0
		})
		if st := c.Stats(); st.Losses > 0 {
			t.Errorf("seed %d: client %d lost %d holds", seed, i, st.Losses)
		}
	}
	var all []*stand
	for i := range 2 {
		all = append(all, &stand{name: fmt.Sprint("storm of read-write ", i)}, &stand{name: fmt.Sprint("storm of fair ", i)})
	}
	wantTidy(t, s, all)
	for _, c := range clients {
		locktest.CloseQuickly(t, c)
	}
	if n := s.Do(t, "KEYS", "redlatch_waiters:*").([]any); len(n) > 0 {
		t.Errorf("seed %d: clients that are gone are registered as waiters: %v", seed, n)
	}
}

// Many calls wait for one lock of each kind when Redis dies and comes back with its data. All are registered again, or in
// their place in the line, without a storm of commands; and all have their turns.
func TestFault50KindsHerdAfterARestart(t *testing.T) {
	t.Parallel()
	const clients, each = 5, 20
	s := redistest.Start(t, redistest.WithAOF())
	holder := faultClient(t, s.Client(t))
	kinds := []locktest.Kind{locktest.Write, locktest.WriteBeforeReads, locktest.Fair}
	var group sync.WaitGroup
	var turns atomic.Int64
	for _, k := range kinds {
		must(t, k.Held(holder, k.Name).LockLease(asHolder(t), time.Hour))
	}
	var waiting []*reentrant.Client
	for range clients {
		c := faultClient(t, s.Client(t))
		waiting = append(waiting, c)
		for range each {
			for _, k := range kinds {
				group.Go(func() {
					if err := k.Rival(c, k.Name).Do(t.Context(), func(context.Context) error { turns.Add(1); return nil }); err != nil {
						t.Errorf("%s: %v", k.Name, err)
					}
				})
			}
		}
	}
	registered := func() bool {
		n := 0
		for _, c := range waiting {
			n += c.Stats().Waiting
		}
		for _, k := range kinds {
			want := int64(clients)
			if k.Name == locktest.Fair.Name {
				want *= each
			}
			if k.Waiting(t, s, k.Name) != want {
				return false
			}
		}
		return n == clients*each*len(kinds)
	}
	redistest.Eventually(t, 30*time.Second, "all wait, and are registered", registered)
	s.Restart()
	up := time.Now()
	redistest.Eventually(t, 30*time.Second, "all are registered again", func() bool {
		return registered() && len(s.Do(t, "PUBSUB", "CHANNELS", "*").([]any)) >= clients*len(kinds)
	})
	scripts, back := calledOn(t, s, "evalsha")+calledOn(t, s, "eval"), time.Since(up)
	t.Logf("back after %v, with %d scripts", back, scripts)
	if most := 20 * clients * len(kinds) * (1 + int(back/time.Second)); scripts > most {
		t.Errorf("%d scripts in the %v after the restart", scripts, back)
	}
	for _, k := range kinds {
		must(t, k.Held(holder, k.Name).Unlock(asHolder(t)))
	}
	group.Wait()
	if n := turns.Load(); n != int64(clients*each*len(kinds)) {
		t.Errorf("%d turns", n)
	}
	wantTidy(t, s, []*stand{{name: "write"}, {name: "write before reads"}, {name: "fair"}})
}

// Many names of each kind, each waited for once by another Client: no channel, no line and no registry is left.
func TestFault51KindsChurn(t *testing.T) {
	t.Parallel()
	const names, workers = 400, 8
	s := redistest.Start(t)
	holder, waiter := faultClient(t, s.Client(t)), faultClient(t, s.Client(t))
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for n := w; n < names; n += workers {
				k := locktest.OtherKinds[n%len(locktest.OtherKinds)]
				name, me := fmt.Sprint("n", n), owner(t.Context(), fmt.Sprint("w", w))
				hold, err := k.Acquire(me, holder, name)
				if err != nil {
					t.Error(err)
					return
				}
				next := inBackground(func() error { return k.Rival(waiter, name).Lock(me) })
				k.Registered(t, s, name, 1)
				unlockCleanly(t, hold.Release(me))
				unlockCleanly(t, <-next)
				unlockCleanly(t, k.Rival(waiter, name).Unlock(me))
			}
		})
	}
	group.Wait()
	locktest.CloseQuickly(t, holder)
	locktest.CloseQuickly(t, waiter)
	redistest.Eventually(t, 5*time.Second, "no channel is subscribed", func() bool {
		return len(s.Do(t, "PUBSUB", "CHANNELS", "*").([]any)) == 0
	})
	for _, key := range s.Do(t, "KEYS", "*").([]any) {
		if s.Do(t, "PTTL", key).(int64) == -1 {
			t.Errorf("%v is left without a TTL", key)
		}
	}
}

// Thousands of locks of each kind are held by one Client: they are renewed in batches, and none is lost.
func TestFault49KindsManyLocks(t *testing.T) {
	t.Parallel()
	const locks, lease = 500, 3 * time.Second
	s := redistest.Start(t)
	c := faultClient(t, s.Client(t), reentrant.WithLease(lease))
	kinds := []locktest.Kind{locktest.Write, locktest.Read, locktest.FixedRead, locktest.Fair}
	for _, k := range kinds {
		for n := range locks {
			_, err := k.Acquire(asHolder(t), c, fmt.Sprint(k.Name, n))
			must(t, err)
		}
	}
	before, scripts, began := c.Stats().Renewals, calledOn(t, s, "evalsha"), time.Now()
	redistest.Eventually(t, 10*lease, "all are renewed twice", func() bool { return c.Stats().Renewals >= before+2*locks*uint64(len(kinds)) })
	sent := calledOn(t, s, "evalsha") - scripts
	t.Logf("%d scripts for %d renewals in %v", sent, c.Stats().Renewals-before, time.Since(began))
	if st := c.Stats(); st.Losses > 0 || sent > locks {
		t.Errorf("%d scripts, %+v", sent, st)
	}
}

// Thousands of calls wait for a fair lock, and all give up at once: the line is empty soon, by few commands, and another
// program's PING does not wait for them.
func TestFault48LineThatTimesOut(t *testing.T) {
	t.Parallel()
	waiters := 10_000
	if testing.Short() {
		waiters = 1000
	}
	noise, s := listenToNoise(t), redistest.Start(t)
	holder, c := faultClient(t, s.Client(t)), faultClient(t, s.Client(t))
	must(t, holder.NewFairLock("l").Lock(asHolder(t)))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var group sync.WaitGroup
	for n := range waiters {
		group.Go(func() {
			if err := c.NewFairLock("l").Lock(owner(ctx, fmt.Sprint("w", n))); err == nil {
				t.Error("taken beside its holder")
			}
		})
	}
	redistest.Eventually(t, 60*time.Second, "all are in the line", func() bool { return locktest.Fair.Waiting(t, s, "l") == int64(waiters) })
	before, began := calledOn(t, s, "evalsha"), time.Now()
	cancel()
	var pings latencies
	redistest.Eventually(t, 60*time.Second, "nobody is in the line", func() bool {
		at := time.Now()
		s.Do(t, "PING")
		pings.add(time.Since(at))
		return locktest.Fair.Waiting(t, s, "l") == 0
	})
	sent := calledOn(t, s, "evalsha") - before
	t.Logf("%d left the line in %v, by %d scripts; PING %v", waiters, time.Since(began), sent, &pings)
	if sent > waiters/10 {
		t.Errorf("%d scripts for %d who left", sent, waiters)
	}
	if worst := pings.at(1); worst > noise.allow(500*time.Millisecond) {
		t.Errorf("a PING took %v", worst)
	}
	group.Wait()
	must(t, holder.NewFairLock("l").Unlock(asHolder(t)))
	wantTidy(t, s, []*stand{{name: "l"}})
}
