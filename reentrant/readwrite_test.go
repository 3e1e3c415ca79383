package reentrant_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// Readers and writers of several Clients, with cancellations and downgrades: no write beside another owner's hold, and nothing
// is left in Redis.
func TestReadWriteExclusion(t *testing.T) {
	onEveryServer(t, func(t *testing.T, b backend) {
		var clients []*reentrant.Client
		for range 4 {
			clients = append(clients, b.newClient(t, b.client()))
		}
		var readers, writers, reads, writes atomic.Int64
		var group sync.WaitGroup
		for i := range 16 {
			group.Go(func() {
				rw := clients[i%4].NewReadWriteLock("rw")
				me := owner(t.Context(), fmt.Sprint("o", i))
				for range 25 {
					switch {
					case rand.N(4) > 0:
						ctx, cancel := context.WithTimeout(me, time.Duration(1+rand.N(200))*time.Millisecond)
						err := rw.RLock(ctx)
						cancel()
						if err != nil {
							wants(t, err, context.DeadlineExceeded)
							continue
						}
						readers.Add(1)
						if writers.Load() > 0 {
							t.Error("a read beside a write")
						}
						time.Sleep(time.Duration(rand.N(1000)) * time.Microsecond)
						readers.Add(-1)
						reads.Add(1)
						must(t, rw.RUnlock(me))
					default:
						must(t, rw.Lock(me))
						if writers.Add(1) > 1 || readers.Load() > 0 {
							t.Error("a write beside another hold")
						}
						if rand.N(2) == 0 {
							must(t, rw.RLock(me))
							writers.Add(-1)
							must(t, rw.Unlock(me))
							must(t, rw.RUnlock(me))
						} else {
							writers.Add(-1)
							must(t, rw.Unlock(me))
						}
						writes.Add(1)
					}
				}
			})
		}
		group.Wait()
		t.Logf("%d reads, %d writes", reads.Load(), writes.Load())
		if reads.Load() == 0 || writes.Load() == 0 {
			t.Error("one side got nothing")
		}
		for _, c := range clients {
			must(t, c.Close(t.Context()))
		}
		rdb := b.client()
		for _, key := range rdb.Keys(t.Context(), "*").Val() {
			if ttl := rdb.PTTL(t.Context(), key).Val(); ttl == -1 || ttl > time.Minute || key == "rw" {
				t.Errorf("%s is left, for %v", key, ttl)
			}
		}
	})
}

// One writer against readers that follow each other without a gap.
func TestReadWriteStarvation(t *testing.T) {
	onEveryServer(t, func(t *testing.T, b backend) {
		ctx, stop := context.WithCancel(t.Context())
		var group sync.WaitGroup
		for i := range 4 {
			rw := b.newClient(t, b.client()).NewReadWriteLock("rw")
			for n := range 2 {
				group.Go(func() {
					me := owner(t.Context(), fmt.Sprint("r", i, n))
					for ctx.Err() == nil {
						must(t, rw.RLock(me))
						time.Sleep(5 * time.Millisecond)
						must(t, rw.RUnlock(me))
					}
				})
			}
		}
		rw := b.newClient(t, b.client()).NewReadWriteLock("rw")
		w := owner(t.Context(), "w")
		var longest time.Duration
		for range 20 {
			began := time.Now()
			ok, err := rw.TryLock(w, 20*time.Second, 0)
			must(t, locktest.Tried(ok, err))
			longest = max(longest, time.Since(began))
			must(t, rw.Unlock(w))
		}
		stop()
		group.Wait()
		t.Logf("the longest wait was %v", longest)
	})
}

// The two sides are members of a MultiLock as any lock; both of one name are one member twice.
func TestReadWriteInMultiLock(t *testing.T) {
	onEveryServer(t, func(t *testing.T, b backend) {
		c := b.newClient(t, b.client())
		one, two := c.NewReadWriteLock("one"), c.NewReadWriteLock("two")
		me, you := owner(t.Context(), "me"), owner(t.Context(), "you")
		both, err := multilock.New(one.Read(), two.Write())
		must(t, err)
		must(t, both.Lock(me))
		must(t, locktest.Tried(one.TryRLock(you, 0, 0)))
		if ok, err := two.TryRLock(you, 0, 0); ok || err != nil {
			t.Fatal(ok, err)
		}
		must(t, one.RUnlock(you))
		must(t, both.Unlock(me))

		must(t, two.RLock(me))
		began := time.Now()
		wants(t, both.Lock(me), reentrant.ErrUpgrade, reentrant.ErrNotAcquired)
		if took := time.Since(began); took > time.Second {
			t.Errorf("a hopeless member took %v", took)
		}
		must(t, two.RUnlock(me))
		if _, err := multilock.New(one.Read(), one.Write()); !errors.Is(err, multilock.ErrMembers) {
			t.Errorf("both sides: %v", err)
		}
	})
}

// Check looks at what a read-write lock needs, with a user that has just that.
func TestReadWriteCheck(t *testing.T) {
	onEveryServer(t, func(t *testing.T, b backend) {
		c := b.newClient(t, b.client())
		rw := c.NewReadWriteLock("rw")
		warnings, err := c.Check(t.Context(), rw.Read(), rw.Write())
		must(t, err)
		if len(warnings) > 0 {
			t.Errorf("%v", warnings)
		}
	})
}

// The bytes in Redis are Redisson's.
func TestReadWriteBytes(t *testing.T) {
	onEveryServer(t, func(t *testing.T, b backend) {
		rdb := b.client()
		c := b.newClient(t, b.client(), reentrant.WithPrefix("app:"))
		rw := c.NewReadWriteLock("rw")
		me := owner(t.Context(), "me")
		must(t, rw.Lock(me))
		must(t, rw.RLock(me))
		want := map[string]string{"mode": "write", c.ID() + ":me:write": "1", c.ID() + ":=reader:me": "1"}
		if got := hash(t, rdb, "app:rw"); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v", got)
		}
		marker := "{app:rw}:" + c.ID() + ":=reader:me:rwlock_timeout:1"
		if got, err := rdb.Get(t.Context(), marker).Result(); got != "1" || err != nil && !errors.Is(err, redis.Nil) {
			t.Errorf("the marker is %q, %v", got, err)
		}
		must(t, rw.Unlock(me))
		must(t, rw.RUnlock(me))
		if n := rdb.Exists(t.Context(), marker, "app:rw").Val(); n != 0 {
			t.Errorf("%d keys are left", n)
		}
	})
}
