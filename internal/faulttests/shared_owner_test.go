package faulttests

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/reentrant"
)

// Several goroutines act as one owner, as the handlers of one order do, and their
// calls are cancelled at random while commands are slow. A call that leaves gives
// back its own hold and no other: whoever was granted one has it until he unlocks.
func TestFaultSharedOwnerCancelled(t *testing.T) {
	t.Parallel()
	rounds := 150
	if testing.Short() {
		rounds = 20
	}
	seed := uint64(time.Now().UnixNano())
	r := newFaultRig(t)
	r.proxy.Chaos(seed, 0.3, anyScript, faultproxy.Delay(time.Millisecond), faultproxy.Delay(3*time.Millisecond))
	clients := []*reentrant.Client{faultClient(t, r.through(t)), faultClient(t, r.through(t))}
	var granted, cancelled atomic.Int64
	var group sync.WaitGroup
	for g := range 16 {
		c := clients[g%2]
		who := []string{"a", "b"}[g/2%2] // four goroutines to each owner of each client
		group.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(g)))
			l := c.NewLock("l")
			for range rounds {
				base := owner(t.Context(), who)
				ctx, cancel := context.WithTimeout(base, time.Duration(random.Int64N(int64(30*time.Millisecond))))
				hold, err := l.Acquire(ctx)
				cancel()
				if err != nil {
					cancelled.Add(1)
					if !errors.Is(err, reentrant.ErrNotAcquired) {
						t.Errorf("seed %d: Acquire: %v", seed, err)
					}
					continue
				}
				granted.Add(1)
				if got := r.held(t, "l"); got[hold.Owner()] == "" || len(got) != 1 {
					t.Errorf("seed %d: %s holds the lock, Redis has %v", seed, hold.Owner(), got)
				}
				if err := hold.Release(base); err != nil {
					t.Errorf("seed %d: Release: %v", seed, err)
				}
			}
		})
	}
	group.Wait()
	t.Logf("seed %d: %d granted, %d cancelled", seed, granted.Load(), cancelled.Load())
	for _, c := range clients {
		locktest.CloseQuickly(t, c)
		if st := c.Stats(); st.Losses > 0 || st.Held > 0 {
			t.Errorf("seed %d: %+v", seed, st)
		}
	}
	locktest.TidyWithin(t, r.Server, 3*time.Second, "l")
}
