package faulttests

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// Nothing passes between the holder and Redis, or requests only, or replies only. Without an answer nothing extends its trust; a
// waiter that is not cut off has each lock; and what arrives when the network is back changes nothing of it.
func TestFault08And09And10KindsPartition(t *testing.T) {
	t.Parallel()
	for _, way := range []struct {
		name     string
		up, down bool
	}{
		{"08 nothing passes", true, true},
		{"09 replies are lost", false, true},
		{"10 requests are lost", true, false},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			kindsPartition(t, way.up, way.down)
		})
	}
}

func kindsPartition(t *testing.T, up, down bool) {
	const lease = 1200 * time.Millisecond
	noise, r := listenToNoise(t), newFaultRig(t)
	c := faultClient(t, r.through(t, locktest.Impatience(200*time.Millisecond)), reentrant.WithLease(lease))
	asker := faultClient(t, r.through(t, locktest.Impatience(200*time.Millisecond)))
	all := newStands(t, r.Server, c, faultClient(t, r.Client(t)), locktest.Renewed(locktest.OtherKinds...))
	redistest.Eventually(t, 10*time.Second, "all are renewed", func() bool { return c.Stats().Renewals >= uint64(len(all)) })

	r.proxy.Blackhole(up, down, faultproxy.Any)
	defer r.proxy.Heal()
	sent, since := r.proxy.Commands("EVALSHA"), time.Now()
	for _, st := range all {
		late, err := cancelIn(t, 50*time.Millisecond, st.Rival(asker, st.name).Lock)
		wants(t, err, reentrant.ErrNotAcquired, context.Canceled)
		if late > noise.allow(100*time.Millisecond) {
			t.Errorf("%s: returned %v after its cancellation", st.Name, late)
		}
	}
	for _, st := range all {
		locktest.InTime(t, 10*time.Second, st.Name+": the loss", st.hold.Lost())
		if late := time.Since(st.hold.ValidUntil()); late < 0 {
			t.Errorf("%s: told of the loss %v before ValidUntil", st.Name, -late)
		}
		st.wantLost(t, time.Second, reentrant.LeaseEnded)
	}
	theirs := make([]*reentrant.Hold, len(all))
	for i, st := range all {
		theirs[i] = locktest.InTime(t, 20*time.Second, st.Name+": the waiter has the lock", st.next)
	}
	n := r.proxy.Commands("EVALSHA") - sent
	if rate := float64(n) / time.Since(since).Seconds(); rate > 100*float64(len(all)) {
		t.Errorf("%d scripts were sent in %v", n, time.Since(since))
	}
	r.proxy.Heal()
	for i, st := range all {
		name := "after " + st.Name // a connection on which an answer is outstanding would give it to somebody else
		for range 5 {
			must(t, st.Held(c, name).Lock(asHolder(t)))
			must(t, st.Held(c, name).Unlock(asHolder(t)))
		}
		st.wantOf(t, r.Server, theirs[i])
		must(t, theirs[i].Release(locktest.AsWaiter(t)))
	}
	wantTidy(t, r.Server, all)
}

// wantOf checks that one owner has the lock.
func (st *stand) wantOf(t *testing.T, s *redistest.Server, hold *reentrant.Hold) {
	t.Helper()
	got := locktest.Held(t, s, st.name)
	delete(got, "mode")
	if len(got) != 1 || ended(hold.Lost()) {
		t.Errorf("%s: what came late has changed the lock of another: %v, %v", st.Name, got, locktest.ContextCause(hold))
	}
}

// Messages are lost: each waiter finds the free lock by itself. It hears again when the connection does.
func TestFault11KindsMessagesLost(t *testing.T) {
	t.Parallel()
	noise, r := listenToNoise(t), newFaultRig(t)
	holder, waiter := faultClient(t, r.Client(t)), faultClient(t, r.through(t))
	all := newStands(t, r.Server, holder, waiter, locktest.OtherKinds)
	r.proxy.Blackhole(false, true, faultproxy.PubSub)
	messages, began := waiter.Stats().WakeUps.Message, time.Now()
	for _, st := range all {
		must(t, st.hold.Release(asHolder(t)))
	}
	for _, st := range all {
		st.goesOn(t, 20*time.Second)
		if d := time.Since(began); d > noise.allow(firstPollLimit) {
			t.Errorf("%s: a waiter that heard nothing took %v", st.Name, d)
		}
	}
	if now := waiter.Stats().WakeUps.Message; now != messages {
		t.Error("a message came through")
	}
	r.proxy.Heal()
	for _, st := range newStands(t, r.Server, holder, waiter, locktest.OtherKinds) {
		must(t, st.hold.Release(asHolder(t)))
		st.goesOn(t, 20*time.Second)
	}
	wantTidy(t, r.Server, all)
}

// Locks of all kinds go to and fro between two Clients while their subscriptions are killed, and while Redis forgets its
// scripts: no hand-off waits for more than a poll, and no call fails.
func TestFault12And20KindsKilledAndFlushed(t *testing.T) {
	t.Parallel()
	for what, command := range map[string][]any{"12": {"CLIENT", "KILL", "TYPE", "pubsub"}, "20": {"SCRIPT", "FLUSH"}} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			noise, s := listenToNoise(t), redistest.Start(t)
			a, b := faultClient(t, s.Client(t)), faultClient(t, s.Client(t))
			stop := repeat(t, s, 20*time.Millisecond, command...)
			var group sync.WaitGroup
			worst := make([]latencies, len(locktest.OtherKinds))
			for i, k := range locktest.OtherKinds {
				group.Go(func() { toAndFro(t, k, a, b, &worst[i]) })
			}
			group.Wait()
			times := stop()
			for i, k := range locktest.OtherKinds {
				t.Logf("%s, %d times: %v", k.Name, times, &worst[i])
				if d := worst[i].at(1); d > noise.allow(firstPollLimit) {
					t.Errorf("%s: a hand-off took %v", k.Name, d)
				}
			}
			wantTidy(t, s, []*stand{{name: "fair"}})
		})
	}
}

// toAndFro has the two Clients take turns for a while, and measures the hand-offs.
func toAndFro(t *testing.T, k locktest.Kind, a, b *reentrant.Client, gaps *latencies) {
	var released atomic.Int64
	begin := time.Now()
	var group sync.WaitGroup
	for who, l := range []*reentrant.Lock{k.Held(a, k.Name), k.Rival(b, k.Name)} {
		group.Go(func() {
			ctx := owner(t.Context(), "me")
			for time.Since(begin) < 1200*time.Millisecond {
				if err := l.Lock(ctx); err != nil {
					t.Errorf("%s: %d: %v", k.Name, who, err)
					return
				}
				if at := released.Swap(0); at > 0 {
					gaps.add(time.Since(begin) - time.Duration(at))
				}
				if err := l.Lock(ctx); err != nil {
					t.Errorf("%s: %d: nested: %v", k.Name, who, err)
				}
				time.Sleep(time.Millisecond) // the other one is to wait
				unlockCleanly(t, l.Unlock(ctx))
				released.Store(int64(time.Since(begin)))
				unlockCleanly(t, l.Unlock(ctx))
			}
		})
	}
	group.Wait()
}

// Whoever may publish calls waiters of each kind, on each channel that they listen on, to a lock that is not free. They
// look at a bounded rate, and get the lock when it is free.
func TestFault61KindsPublishFlood(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	holder, waiter := faultClient(t, s.Client(t)), faultClient(t, s.Client(t))
	all := newStands(t, s, holder, waiter, locktest.OtherKinds)
	before, began := scriptCalls(t, s), time.Now()
	var stops []func() int
	for _, channel := range s.Do(t, "PUBSUB", "CHANNELS", "*").([]any) {
		stops = append(stops, flood(t, s, channel.(string), "0", "-0", "01", "garbage", "", "-1"))
	}
	_ = rateOver(t, s, time.Second)
	sent := 0
	for _, stop := range stops {
		sent += stop()
	}
	calls, took := scriptCalls(t, s)-before, time.Since(began)
	t.Logf("%d messages, %d scripts in %v", sent, calls, took)
	if limit := float64(len(all)) * (25 + 55*took.Seconds()); float64(calls) > limit {
		t.Errorf("%d scripts in %v", calls, took)
	}
	for _, st := range all {
		st.wantHeld(t, s)
		must(t, st.hold.Release(asHolder(t)))
		st.goesOn(t, 20*time.Second)
	}
	wantTidy(t, s, all)
}
