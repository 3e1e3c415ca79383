package reentrant_test

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// inLine waits until so many stand in the line of a fair lock.
func inLine(t testing.TB, rdb redis.UniversalClient, name string, n int) {
	t.Helper()
	redistest.Eventually(t, 20*time.Second, fmt.Sprintf("%d in line", n), func() bool {
		return rdb.LLen(t.Context(), "redisson_lock_queue:{"+name+"}").Val() == int64(n)
	})
}

// grants notes in which order calls have the lock.
type grants struct {
	mu    sync.Mutex
	order []int
	wg    sync.WaitGroup
}

func (g *grants) add(i int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.order = append(g.order, i)
}

// wait has a call wait for the lock, and lets go of it at once.
func (g *grants) wait(t *testing.T, l *reentrant.Lock, i int) {
	g.wg.Go(func() {
		ctx := reentrant.WithOwner(t.Context(), "w"+strconv.Itoa(i))
		hold, err := l.Acquire(ctx)
		if err != nil {
			t.Errorf("%d: %v", i, err)
			return
		}
		g.add(i)
		if err := hold.Release(ctx); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	})
}

func (g *grants) want(t *testing.T, n int) {
	t.Helper()
	g.wg.Wait()
	for i := range n {
		if i >= len(g.order) || g.order[i] != i {
			t.Fatalf("not in order: %v", g.order)
		}
	}
}

// Calls of several Clients get the lock in the order in which they came.
func TestFairOrderOverClients(t *testing.T) {
	onEveryServer(t, func(t *testing.T, b backend) {
		const waiters = 40
		rdb := b.client()
		clients := make([]*reentrant.Client, 5)
		for i := range clients {
			clients[i] = newClient(t, b.client())
		}
		hold, err := clients[0].NewFairLock("l").Acquire(owner(t.Context(), "first"))
		must(t, err)
		var g grants
		for i := range waiters {
			g.wait(t, clients[i*i%len(clients)].NewFairLock("l"), i)
			inLine(t, rdb, "l", i+1)
		}
		info, err := clients[1].NewFairLock("l").Info(t.Context())
		must(t, err)
		if len(info.Waiters) != waiters || !info.Held {
			t.Errorf("%v", info)
		}
		for i, w := range info.Waiters {
			if w.Owner != "w"+strconv.Itoa(i) {
				t.Errorf("%d in line: %v", i, w.Party)
			}
		}
		must(t, hold.Release(t.Context()))
		g.want(t, waiters)
		redistest.Eventually(t, 10*time.Second, "nothing is left", func() bool {
			left, err := rdb.Keys(t.Context(), "*").Result()
			return err == nil && !slices.ContainsFunc(left, func(key string) bool { return key != "redlatch_epoch:{l}:line" })
		})
	})
}

// What holds for every lock holds for a fair one.
func TestFairIsReentrant(t *testing.T) {
	onEveryBackend(t, func(t *testing.T, b backend) {
		c := b.newClient(t, b.client(), reentrant.WithLease(10*time.Second))
		l := c.NewFairLock("l", reentrant.WithFencing())
		me, you := owner(t.Context(), "me"), owner(t.Context(), "you")
		must(t, l.Lock(me))
		must(t, l.Lock(me))
		if n, err := l.HoldCount(me); n != 2 || err != nil {
			t.Error(n, err)
		}
		if ok, err := l.TryLock(you, 0, 0); ok || err != nil {
			t.Error(ok, err)
		}
		if ok, err := l.TryLock(you, 50*time.Millisecond, 0); ok || err != nil {
			t.Error(ok, err)
		}
		must(t, l.Unlock(me))
		must(t, l.Unlock(me))
		wants(t, l.Unlock(me), reentrant.ErrNotHeld)
		hold, err := l.Acquire(you)
		must(t, err)
		if hold.Token() == 0 {
			t.Error("no token")
		}
		freed, err := l.ForceUnlock(me)
		if !freed || err != nil {
			t.Error(freed, err)
		}
		wants(t, hold.Release(you), reentrant.ErrLost)
		must(t, l.Lock(me))
		must(t, l.Unlock(me))
	})
}
