package multilock_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// inOrder returns two locks of a Client in the canonical order.
func inOrder(t testing.TB, c *reentrant.Client) (first, second *reentrant.Lock) {
	t.Helper()
	a, b := c.NewLock("account:0"), c.NewLock("account:1")
	m, err := multilock.New(a, b)
	must(t, err)
	if multilock.FirstOf(m) == b.Name() {
		return b, a
	}
	return a, b
}

// Plain locks that are taken inside each other in the order opposite to the canonical one wait for a
// MultiLock that waits for them, time and again. Each such wait ends by the MultiLock's patience.
func TestPlainLocksInTheOppositeOrder(t *testing.T) {
	for _, rivals := range []int{1, 3} {
		t.Run(fmt.Sprint(rivals), func(t *testing.T) {
			inVirtualTime(t, 1, func(t *testing.T, v *virtual) {
				ctx, cancel := context.WithTimeout(v.ctx, 10*time.Second)
				defer cancel()
				var callers []*pending
				turns := make([]int, 2*rivals)
				slowest := make([]time.Duration, 2*rivals)
				run := func(i int, lock, unlock func(ctx context.Context) error) {
					callers = append(callers, begin(func() error {
						me := as(ctx, fmt.Sprint("owner", i))
						for began := time.Now(); lock(me) == nil; began = time.Now() {
							slowest[i] = max(slowest[i], time.Since(began))
							turns[i]++
							time.Sleep(5 * time.Millisecond)
							if err := unlock(context.WithoutCancel(me)); err != nil {
								return err
							}
						}
						return nil
					}))
				}
				for i := range rivals {
					mine := v.processWith(nil, reentrant.WithLease(30*time.Second))[0]
					m, err := multilock.New(mine.NewLock("account:0"), mine.NewLock("account:1"))
					must(t, err)
					run(i, m.Lock, m.Unlock)
					theirs := v.processWith(nil, reentrant.WithLease(30*time.Second))[0]
					a, b := inOrder(t, theirs)
					run(rivals+i, func(ctx context.Context) error {
						if err := b.Lock(ctx); err != nil {
							return err
						}
						time.Sleep(time.Millisecond)
						if err := a.Lock(ctx); err != nil {
							_ = b.Unlock(context.WithoutCancel(ctx))
							return err
						}
						return nil
					}, func(ctx context.Context) error {
						if err := a.Unlock(ctx); err != nil {
							return err
						}
						return b.Unlock(ctx)
					})
				}
				for _, c := range callers {
					<-c.done
					must(t, c.err)
				}
				t.Logf("turns %v, slowest %v", turns, slowest)
				// Turns may be uneven where several MultiLocks are in the way of several others.
				if plain := turns[rivals:]; slices.Min(plain) < 5 || rivals == 1 && turns[0] < 50 {
					t.Errorf("turns in 10 s: %v", turns)
				}
				if rivals == 1 && slices.Max(slowest) > 250*time.Millisecond {
					t.Errorf("waited for each other for %v", slowest)
				}
			})
		})
	}
}

// MultiLocks that see addresses differently wait for each other. One of them loses patience, and
// nobody waits for long.
func TestMultiLocksInOppositeOrders(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
				ctx, cancel := context.WithTimeout(v.ctx, 5*time.Second)
				defer cancel()
				var mu sync.Mutex
				turns := make([]int, 4)
				slowest := time.Duration(0)
				var callers []*pending
				for i := range turns {
					var f fleet
					for _, s := range v.s {
						rdb := redistest.MiniClient(t, s.Miniredis, func(o *redis.Options) { o.Addr = "FailoverClient" })
						f = append(f, newClient(t, rdb, reentrant.WithLease(30*time.Second)))
					}
					if i%2 == 1 {
						slices.Reverse(f)
					}
					l := kind.make(f, t, name)
					callers = append(callers, begin(func() error {
						for range 20 {
							began := time.Now()
							if l.Lock(ctx) != nil {
								return nil
							}
							mu.Lock()
							slowest = max(slowest, time.Since(began))
							turns[i]++
							mu.Unlock()
							time.Sleep(5 * time.Millisecond)
							if err := l.Unlock(v.ctx); err != nil {
								return err
							}
						}
						return nil
					}))
				}
				for _, c := range callers {
					<-c.done
					must(t, c.err)
				}
				t.Logf("turns %v, slowest %v", turns, slowest)
				sum := 0
				for _, n := range turns {
					sum += n
				}
				if sum < 8 { // a few turns each second
					t.Errorf("turns in 5 s: %v", turns)
				}
			})
		})
	}
}
