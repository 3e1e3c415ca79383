package reentrant_test

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// What Redisson's tests do by the thousand, on a real server.

func TestBehaviour_12_ServerStopped(t *testing.T) {
	s := redistest.Start(t)
	l := newClient(t, s.Client(t)).NewLock("job")
	must(t, l.Lock(context.Background()))
	must(t, l.Unlock(context.Background()))
	s.Kill()
	ok, err := l.TryLock(context.Background(), 5*time.Second, 10*time.Second)
	if ok || err == nil {
		t.Fatalf("TryLock = %v, %v", ok, err)
	}
}

// Over one subscription connection, and nothing is subscribed afterwards.
func TestBehaviour_13_ManyJobsOnFewNames(t *testing.T) {
	s := redistest.Start(t)
	ctx := context.Background()
	c, other := newClient(t, s.Client(t)), newClient(t, s.Client(t))
	var inside, most [5]atomic.Int32
	var group sync.WaitGroup
	const workers, jobs = 50, 5000
	for i := range workers {
		client := c
		if i%2 == 1 {
			client = other
		}
		group.Go(func() {
			for job := range jobs / workers {
				n := (i + job) % 5
				l := client.NewLock("job:" + strconv.Itoa(n))
				if err := l.Lock(ctx); err != nil {
					t.Errorf("Lock: %v", err)
					return
				}
				if inside[n].Add(1) > 1 {
					most[n].Store(2)
				}
				inside[n].Add(-1)
				if err := l.Unlock(ctx); err != nil {
					t.Errorf("Unlock: %v", err)
					return
				}
			}
		})
	}
	group.Wait()
	for n := range most {
		if most[n].Load() > 1 {
			t.Errorf("two holders of lock %d", n)
		}
	}
	redistest.Eventually(t, 10*time.Second, "no channel is subscribed", func() bool {
		return len(s.Do(t, "PUBSUB", "CHANNELS").([]any)) == 0
	})
	if s := c.Stats(); s.Held != 0 || s.Waiting != 0 || s.Acquired != jobs/2 || s.Losses != 0 {
		t.Errorf("stats %+v", s)
	}
}

// A pool of one connection, which waiters must not keep to themselves.
func TestBehaviour_14_OneConnection(t *testing.T) {
	s := redistest.Start(t)
	ctx := context.Background()
	c := newClient(t, s.Client(t, func(o *redis.Options) { o.PoolSize = 1 }))
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			for range 50 {
				l := c.NewLock(strconv.Itoa(i % 2))
				if ok, err := l.TryLock(ctx, 20*time.Second, 0); !ok || err != nil {
					t.Errorf("TryLock = %v, %v", ok, err)
					return
				}
				if err := l.Unlock(ctx); err != nil {
					t.Errorf("Unlock: %v", err)
				}
			}
		})
	}
	group.Wait()
}

// One handle for all, and whoever holds the lock is renewed.
func TestBehaviour_15_22_OneHandleManyGoroutines(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		l := c.NewLock("job")
		var group sync.WaitGroup
		inside := 0
		for i := range 16 {
			random := rand.New(rand.NewPCG(3, uint64(i)))
			group.Go(func() {
				for range 30 {
					wait := time.Duration(random.IntN(10)) * time.Millisecond
					ok, err := l.TryLock(v.ctx, wait, 0)
					if err != nil {
						t.Errorf("TryLock: %v", err)
					}
					if !ok {
						continue
					}
					if inside++; inside != 1 || c.Stats().Held != 1 {
						t.Errorf("%d holders, %+v", inside, c.Stats())
					}
					time.Sleep(time.Duration(random.IntN(2)) * time.Millisecond)
					inside--
					if err := l.Unlock(v.ctx); err != nil {
						t.Errorf("Unlock: %v", err)
					}
				}
			})
		}
		group.Wait()
		v.pass(2 * time.Second)
		if s := c.Stats(); s.Held != 0 || s.Waiting != 0 || s.Subscriptions != 0 || v.mini.Exists("job") {
			t.Fatalf("stats %+v", s)
		}
	})
}

func TestBehaviour_16_MutualExclusion(t *testing.T) {
	for _, test := range []struct{ clients, goroutines, rounds int }{{1, 15, 1}, {16, 1, 6}, {100, 1, 1}} {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			inside, done := 0, 0
			var group sync.WaitGroup
			for range test.clients {
				// Long enough: no one waits for an end of a lease.
				l := v.client(reentrant.WithLease(time.Hour)).NewLock("job")
				for range test.goroutines {
					group.Go(func() {
						for range test.rounds {
							if err := l.Lock(v.ctx); err != nil {
								t.Errorf("Lock: %v", err)
								return
							}
							if inside++; inside != 1 {
								t.Errorf("%d holders", inside)
							}
							time.Sleep(time.Millisecond)
							inside--
							done++
							if err := l.Unlock(v.ctx); err != nil {
								t.Errorf("Unlock: %v", err)
							}
						}
					})
				}
			}
			began := time.Now()
			group.Wait()
			all := test.clients * test.goroutines * test.rounds
			if done != all {
				t.Fatalf("%d of %d", done, all)
			}
			if took := time.Since(began); took > time.Duration(all)*20*time.Millisecond {
				t.Fatalf("%d holds of 1 ms took %v: somebody was not woken", all, took)
			}
		})
	}
}
