package reentrant

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// A queue lives while somebody uses it: names that come and go, on every path on which a
// hold can end, leave none behind, and there is never a second one of a name.
func TestBehindQueuesAreDropped(t *testing.T) {
	s := redistest.Start(t)
	c, err := New(s.Client(t), WithHandoff(WriteBehind))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	const names, goroutines, rounds = 3, 12, 150
	var inside [names]int // each guarded by the lock of its name
	var group sync.WaitGroup
	for g := range goroutines {
		group.Go(func() {
			for round := range rounds {
				n := (g + round) % names
				l := c.NewLock(strconv.Itoa(n))
				take := l.Lock
				release := l.Unlock
				if round%3 != 1 {
					take = func(ctx context.Context) error {
						hold, err := l.Acquire(ctx)
						release = hold.Release
						return err
					}
				}
				if err := take(t.Context()); err != nil {
					t.Error(err)
					return
				}
				inside[n]++
				if round%3 == 2 {
					_, _ = l.HoldCount(t.Context())
				}
				err := release(t.Context())
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	sum := 0
	for _, n := range inside {
		sum += n
	}
	if sum != goroutines*rounds {
		t.Errorf("counted to %d", sum)
	}
	redistest.Eventually(t, 5*time.Second, "no queue is left", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return statesInUse(c, plain) == 0
	})
}
