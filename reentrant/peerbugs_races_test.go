package reentrant_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// The renewal is scheduled after the unlock has cancelled it, and outlives the lock:

// the next holder's key is extended, or a free one's never ends (Redisson #7272).

func TestLedger_27_RenewalDoesNotOutliveUnlock(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		random := rand.New(rand.NewPCG(1, 2))
		c := v.client()
		l := c.NewLock("job")
		late := false
		v.onCommand(func(cmd string, args []string) string {
			if cmd == "EVALSHA" && args[1] == "1" && len(args) == 6 { // a renewal of one lock
				late = true
				time.Sleep(20 * time.Millisecond)
			}
			return ""
		})
		for range 100 {
			must(t, l.Lock(v.ctx))
			time.Sleep(lease/3 + time.Duration(random.IntN(40)-20)*time.Millisecond) // about when the renewal is
			must(t, l.Unlock(v.ctx))
			// This one is not renewed. What was under way may arrive late, once.
			must(t, l.LockLease(v.ctx, lease))
			v.pass(lease + 20*time.Millisecond)
			if v.mini.Exists("job") {
				t.Fatalf("%v left of a fixed lease that is over", v.ttl("job"))
			}
			if err := l.Unlock(v.ctx); !errors.Is(err, reentrant.ErrLost) {
				t.Fatalf("Unlock: %v", err)
			}
		}
		if !late || c.Stats().Held != 0 {
			t.Fatalf("no renewal was late, or %+v", c.Stats())
		}
	})
}

// Re-entrant holds leave entries in the renewal's registry (Redisson #7251).

func TestLedger_28_NothingIsLeftOfNestedHolds(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		l := c.NewLock("job")
		for range 2 {
			must(t, l.Lock(v.ctx))
			must(t, l.Lock(v.ctx))
			must(t, l.Unlock(v.ctx))
			must(t, l.Unlock(v.ctx))
		}
		v.scripts()
		v.pass(time.Minute)
		if n := v.scripts(); n != 0 || c.Stats().Held != 0 {
			t.Fatalf("%d scripts afterwards, %+v", n, c.Stats())
		}
	})
}

// Each lock and unlock leaves something in the queue of renewals, and a busy process

// renews more and more (Redisson #6832).

func TestLedger_29_RenewalsDoNotAddUp(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		l := c.NewLock("job")
		for range 200 {
			must(t, l.Lock(v.ctx))
			must(t, l.Unlock(v.ctx))
		}
		must(t, l.Lock(v.ctx))
		v.scripts()
		v.pass(10 * lease)
		if n, renewals := v.scripts(), c.Stats().Renewals; n > 31 || renewals > 31 {
			t.Fatalf("%d renewals in %d commands in 30 periods", renewals, n)
		}
	})
}

// A channel stays subscribed after its last waiter (Redisson #4064, #2575), also when

// the wait ended before the subscription was there (#3821).

func TestLedger_30_ChannelsAreUnsubscribed(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		holder := v.client()
		c := v.client()
		v.onCommand(func(cmd string, _ []string) string {
			if cmd == "SUBSCRIBE" {
				time.Sleep(200 * time.Millisecond)
			}
			return ""
		})
		for _, name := range []string{"a", "b", "c"} {
			must(t, holder.NewLock(name).Lock(v.ctx))
			for _, wait := range []time.Duration{time.Millisecond, 100 * time.Millisecond, time.Second} {
				if ok, err := c.NewLock(name).TryLock(v.ctx, wait, 0); ok || err != nil {
					t.Fatal(ok, err)
				}
			}
		}
		v.pass(10 * time.Second)
		if left := v.mini.PubSubChannels("*"); len(left) != 0 || c.Stats().Subscriptions != 0 {
			t.Fatalf("channels %q, %+v", left, c.Stats())
		}
		if v.mini.Exists("redlatch_waiters:{a}") {
			t.Fatal("still registered as a waiter")
		}
	})
}

// One subscription that fails poisons the channel for all waiters to come

// (Redisson #6047).

// And without any subscription the lock is found by looking.

// Redis is down, and the call waits for ever, or for longer than it was told

// (Redisson #543, #3121).

// Two holders have the same fencing token, or a later one a lesser (Redisson #4684).

func TestLedger_34_TokensRise(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		clients := []*reentrant.Client{v.client(), v.client()}
		var mu sync.Mutex
		var tokens []int64
		var waiters []*pending
		for i := range 20 {
			l := clients[i%2].NewLock("job", reentrant.WithFencing())
			waiters = append(waiters, begin(func() error {
				h, err := l.Acquire(v.ctx)
				if err != nil {
					return err
				}
				nested, err := l.Acquire(h.Context())
				if err != nil {
					return err
				}
				if nested.Token() != h.Token() {
					t.Errorf("nested token %d, outer %d", nested.Token(), h.Token())
				}
				mu.Lock()
				tokens = append(tokens, h.Token())
				mu.Unlock()
				return errors.Join(nested.Release(v.ctx), h.Release(v.ctx))
			}))
		}
		for _, w := range waiters {
			must(t, w.wait())
		}
		for range 2 {
			h, err := clients[0].NewLock("job", reentrant.WithFencing()).Acquire(v.ctx)
			must(t, err)
			tokens = append(tokens, h.Token())
			v.mini.FlushAll() // forgets the counter too
			if err := h.Release(v.ctx); !errors.Is(err, reentrant.ErrLost) {
				t.Fatal(err)
			}
			v.pass(time.Millisecond)
		}
		synctest.Wait()
		if !slices.IsSorted(tokens) || len(slices.Compact(slices.Clone(tokens))) != len(tokens) || tokens[0] <= 0 {
			t.Fatalf("tokens %v", tokens)
		}
	})
}

// A wait that is cancelled just as the lock is granted leaves a lock that nobody has

// and that is renewed for ever (Redisson #2714, #5358).

func TestLedger_35_CancelledAtTheGrant(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		holder := v.client().NewLock("job")
		owned := reentrant.WithOwner(v.ctx, "holder")
		c := v.client()
		v.onCommand(func(cmd string, _ []string) string {
			if cmd == "EVALSHA" {
				time.Sleep(time.Millisecond) // so that the cancellation can fall into a command
			}
			return ""
		})
		for i := range 60 {
			must(t, holder.Lock(owned))
			ctx, cancel := context.WithCancel(v.ctx)
			waiter := begin(func() error { return c.NewLock("job").Lock(ctx) })
			v.pass(50 * time.Millisecond)
			release := begin(func() error { return holder.Unlock(owned) })
			time.Sleep(time.Duration(i) * 100 * time.Microsecond) // of the 3 ms or so that it takes
			cancel()
			must(t, release.wait())
			if err := waiter.wait(); err == nil {
				freed, err := c.NewLock("job").ForceUnlock(v.ctx) // the waiter's goroutine is gone
				if err != nil || !freed {
					t.Fatalf("granted, and ForceUnlock = %v, %v", freed, err)
				}
			}
			v.pass(200 * time.Millisecond)
			if v.mini.Exists("job") || c.Stats().Held != 0 {
				t.Fatalf("cancelled %v after the release: %v holds, %+v", time.Duration(i)*100*time.Microsecond, v.fields("job"), c.Stats())
			}
		}
	})
}
