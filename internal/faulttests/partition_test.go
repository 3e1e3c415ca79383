package faulttests

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// Between a client and Redis nothing passes any more, or requests only, or replies only, and
// no connection ends because of it. Without an answer nothing extends the holder's trust, also if
// Redis has renewed the lease; what was sent meanwhile arrives when the network is back,
// and then takes nothing from the next holder and leaves nothing behind.
func TestFault08And09And10Partition(t *testing.T) {
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
			partition(t, way.up, way.down)
		})
	}
}

func partition(t *testing.T, up, down bool) {
	const lease = 900 * time.Millisecond
	noise, r := listenToNoise(t), newFaultRig(t).warm(t)
	c := faultClient(t, r.through(t, locktest.Impatience(200*time.Millisecond)), reentrant.WithLease(lease))
	asker := faultClient(t, r.through(t, locktest.Impatience(200*time.Millisecond))) // whose lease outlasts the test
	other := faultClient(t, r.Client(t))
	me := owner(t.Context(), "me")
	must(t, asker.NewLock("before").Lock(me)) // it has a connection
	must(t, asker.NewLock("before").Unlock(me))
	hold, err := c.NewLock("l").Acquire(me)
	must(t, err)
	var hist locktest.Tenures
	lost := hist.Begin("cut off", hold)
	next := make(chan *reentrant.Hold, 1)
	go func() {
		hold, err := other.NewLock("l").Acquire(me)
		if err != nil {
			t.Errorf("the next: %v", err)
		}
		next <- hold
	}()
	redistest.Eventually(t, 5*time.Second, "it was renewed", func() bool { return c.Stats().Renewals > 0 })

	r.proxy.Blackhole(up, down, faultproxy.Any)
	defer r.proxy.Heal()
	sent, since := r.proxy.Commands("EVALSHA"), time.Now()
	redistest.Eventually(t, 10*time.Second, "a renewal was not answered", func() bool { return c.Stats().RenewFailures > 0 })
	until := hold.ValidUntil() // an answer that was on its way has arrived by now
	if down && !up {
		left := time.Duration(r.Do(t, "PTTL", "l").(int64)) * time.Millisecond
		if more := left - time.Until(until); more < lease/6 {
			t.Errorf("the key lives for only %v longer than the hold: was it not renewed?", more)
		}
	}
	ok, err := asker.NewLock("asked").TryLock(me, 150*time.Millisecond, 0)
	if ok {
		t.Error("TryLock took a lock that Redis has not granted")
	}
	wants(t, err, reentrant.ErrNotAcquired)
	late, err := cancelIn(t, 50*time.Millisecond, asker.NewLock("left").Lock)
	wants(t, err, reentrant.ErrNotAcquired, context.Canceled)
	if late > noise.allow(100*time.Millisecond) {
		t.Errorf("returned %v after its cancellation", late)
	}

	locktest.InTime(t, 10*time.Second, "the loss", hold.Lost())
	if late := time.Since(until); late < 0 || late > noise.allow(100*time.Millisecond) {
		t.Errorf("told of the loss %v after ValidUntil", late)
	}
	lost()
	if moved := hold.ValidUntil().Sub(until); moved != 0 {
		t.Errorf("ValidUntil moved by %v without an answer", moved)
	}
	var why *reentrant.LostError
	if !errors.As(locktest.ContextCause(hold), &why) || why.Reason != reentrant.LeaseEnded {
		t.Errorf("lost because of %v", locktest.ContextCause(hold))
	}
	wants(t, hold.Release(me), reentrant.ErrLost)
	theirs := locktest.InTime(t, 5*time.Second, "the next has the lock", next)
	end := hist.Begin("next", theirs)
	n := r.proxy.Commands("EVALSHA") - sent
	if rate := float64(n) / time.Since(since).Seconds(); rate > 100 {
		t.Errorf("%d scripts were sent in %v", n, time.Since(since))
	}

	r.proxy.Heal()
	// A connection on which an answer is outstanding would give it to somebody else.
	for i := range 30 {
		for _, c := range []*reentrant.Client{c, asker} {
			l := c.NewLock("after")
			must(t, l.Lock(me))
			must(t, l.Lock(me))
			if n, err := l.HoldCount(me); n != 2 || err != nil {
				t.Fatalf("round %d: HoldCount is %d, %v", i, n, err)
			}
			must(t, l.Unlock(me))
			must(t, l.Unlock(me))
		}
		if got := r.held(t, "l"); len(got) != 1 || got[theirs.Owner()] != "1" {
			t.Fatalf("round %d: what came late has changed the lock of another: %v", i, got)
		}
	}
	end()
	must(t, theirs.Release(me))
	hist.Disjoint(t, "of lock l")
	locktest.TidyWithin(t, r.Server, 10*time.Second, "l", "asked", "left", "after")
	locktest.CloseQuickly(t, c)
	locktest.CloseQuickly(t, asker)
}
