package faulttests

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/reentrant"
)

// Several goroutines act as one owner, nest and leave at random, while the lock is passed on
// between owners and commands are slow. Whoever was granted a hold has it until he releases it,
// whatever the owner's other calls do; and what the Client says of it is so.
func TestFaultBehindSharedOwner(t *testing.T) {
	t.Parallel()
	rounds := 120
	if testing.Short() {
		rounds = 20
	}
	seed := uint64(time.Now().UnixNano())
	r := newFaultRig(t)
	r.proxy.Chaos(seed, 0.3, anyScript, faultproxy.Delay(time.Millisecond), faultproxy.Delay(3*time.Millisecond))
	clients := []*reentrant.Client{faultClient(t, r.through(t), locktest.WriteBehind), faultClient(t, r.through(t), locktest.WriteBehind)}
	var granted, cancelled atomic.Int64
	var group sync.WaitGroup
	for g := range 18 {
		c := clients[g%2]
		who := []string{"a", "b", "c"}[g/2%3] // three goroutines to each owner of each client
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
				got := r.held(t, "l")
				for name := range got {
					if len(got) != 1 || !strings.HasPrefix(name, c.ID()+":") {
						t.Errorf("seed %d: %s holds the lock, Redis has %v", seed, hold.Owner(), got)
					}
				}
				if random.IntN(4) == 0 {
					if n, err := l.HoldCount(base); n < 1 || n > 3 || err != nil {
						t.Errorf("seed %d: HoldCount of a holder is %d, %v", seed, n, err)
					}
				}
				if err := hold.Release(base); err != nil {
					t.Errorf("seed %d: Release: %v", seed, err)
				}
			}
		})
	}
	group.Wait()
	t.Logf("seed %d: %d granted, %d cancelled, %d and %d hand-offs", seed, granted.Load(), cancelled.Load(),
		clients[0].Stats().HandedOver, clients[1].Stats().HandedOver)
	for _, c := range clients {
		locktest.CloseQuickly(t, c)
		if st := c.Stats(); st.Losses > 0 || st.Held > 0 {
			t.Errorf("seed %d: %+v", seed, st)
		}
	}
	locktest.TidyWithin(t, r.Server, 3*time.Second, "l")
}
