package faulttests

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// The program blocks every connection of the client that it shares with Redlatch. Renewals get
// through on connections of their own; calls keep to their limits; and when connections are free
// again nothing is left behind.
func TestFault38PoolExhausted(t *testing.T) {
	t.Parallel()
	const lease, connections = 1200 * time.Millisecond, 4
	noise, s := listenToNoise(t), redistest.Start(t)
	rdb := s.Client(t, func(o *redis.Options) { o.PoolSize = connections })
	c := faultClient(t, rdb, reentrant.WithLease(lease))
	l, me := c.NewLock("l"), owner(t.Context(), "me")
	hold, err := l.Acquire(me)
	must(t, err)
	must(t, c.NewLock("unlocked", reentrant.WithFencing()).Lock(me))
	redistest.Eventually(t, 10*time.Second, "it was renewed", func() bool { return c.Stats().Renewals > 1 })

	var blocked sync.WaitGroup
	for range 2 * connections {
		blocked.Go(func() {
			if err := rdb.BLPop(t.Context(), 30*time.Second, "jobs").Err(); err != nil && !errors.Is(err, redis.ErrPoolTimeout) {
				t.Errorf("BLPOP: %v", err)
			}
		})
	}
	redistest.Eventually(t, 10*time.Second, "every connection is blocked", func() bool {
		return s.Info(t, "clients", "blocked_clients") == "4"
	})
	ok, err := c.NewLock("another").TryLock(me, 100*time.Millisecond, 0)
	if ok {
		t.Error("TryLock without a connection")
	}
	wants(t, err, reentrant.ErrNotAcquired)
	late, err := expireIn(t, 50*time.Millisecond, c.NewLock("unlocked").Unlock)
	wants(t, err, reentrant.ErrUnconfirmed)
	if late > noise.allow(100*time.Millisecond) {
		t.Errorf("Unlock returned %v after its deadline", late)
	}
	kept := c.Stats().Renewals
	redistest.Eventually(t, 10*time.Second, "it is renewed though no connection is free", func() bool { return c.Stats().Renewals > kept+5 })
	if blocked := s.Info(t, "clients", "blocked_clients"); blocked != "4" || ended(hold.Lost()) {
		t.Fatalf("%s connections are blocked, lost: %v", blocked, locktest.ContextCause(hold))
	}

	for range 2 * connections {
		s.Do(t, "RPUSH", "jobs", "x")
	}
	must(t, hold.Release(me))
	must(t, l.Lock(me))
	before := c.Stats().Renewals
	redistest.Eventually(t, 5*time.Second, "it is renewed", func() bool { return c.Stats().Renewals > before })
	must(t, l.Unlock(me))
	blocked.Wait()
	s.Do(t, "DEL", "jobs")
	locktest.TidyWithin(t, s, 10*time.Second, "l", "another", "unlocked")
	locktest.CloseQuickly(t, c)
}

// One connection is enough: while the program blocks all others, the lock is renewed.
func TestFault38OneConnectionLeft(t *testing.T) {
	t.Parallel()
	const lease, connections = 900 * time.Millisecond, 4
	s := redistest.Start(t)
	rdb := s.Client(t, func(o *redis.Options) { o.PoolSize = connections })
	c := faultClient(t, rdb, reentrant.WithLease(lease))
	l, me := c.NewLock("l"), owner(t.Context(), "me")
	var blocked sync.WaitGroup
	for range connections - 1 {
		blocked.Go(func() {
			if err := rdb.BLPop(t.Context(), 30*time.Second, "jobs").Err(); err != nil {
				t.Errorf("BLPOP: %v", err)
			}
		})
	}
	redistest.Eventually(t, 5*time.Second, "they are blocked", func() bool {
		return s.Info(t, "clients", "blocked_clients") == "3"
	})
	hold, err := l.Acquire(me)
	must(t, err)
	redistest.Eventually(t, 10*time.Second, "it was renewed three times", func() bool { return c.Stats().Renewals >= 3 })
	must(t, hold.Release(me))
	if n := c.Stats().Losses; n > 0 {
		t.Errorf("%d losses", n)
	}
	for range connections - 1 {
		s.Do(t, "RPUSH", "jobs", "x")
	}
	blocked.Wait()
	locktest.TidyWithin(t, s, 10*time.Second, "l")
}
