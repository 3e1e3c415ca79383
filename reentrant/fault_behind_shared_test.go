package reentrant_test

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
	clients := []*reentrant.Client{faultClient(t, r.through(t), writeBehind), faultClient(t, r.through(t), writeBehind)}
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
		closeQuickly(t, c)
		if st := c.Stats(); st.Losses > 0 || st.Held > 0 {
			t.Errorf("seed %d: %+v", seed, st)
		}
	}
	tidyWithin(t, r.Server, 3*time.Second, "l")
}

// A row of holds with a lease that is short, and slow moves and renewals that overtake each other:
// nothing is lost.
func TestFaultBehindRenewedInARow(t *testing.T) {
	const lease = 400 * time.Millisecond
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		var mu sync.Mutex
		random := rand.New(rand.NewPCG(1, 4)) // guarded by mu
		v.onCommand(func(cmd string, args []string) string {
			if script := scriptOf(append([]string{cmd}, args...)); script == "renew" || script == "transfer" {
				mu.Lock()
				slow := []time.Duration{0, 5 * time.Millisecond, 20 * time.Millisecond}[random.IntN(3)]
				mu.Unlock()
				time.Sleep(slow)
			}
			return ""
		})
		c := v.client(reentrant.WithLease(lease), writeBehind)
		l := c.NewLock("l")
		var hist tenures
		var group sync.WaitGroup
		end := time.Now().Add(50 * lease)
		for g := range 4 {
			group.Go(func() {
				random := rand.New(rand.NewPCG(1, uint64(g)))
				for time.Now().Before(end) {
					hold, err := l.Acquire(v.ctx)
					if err != nil {
						t.Error(err)
						return
					}
					over := hist.begin("one of four", hold)
					longest := 40 * time.Millisecond
					if random.IntN(4) == 0 {
						longest = lease // a move renews as well: there is a renewal if none comes for a third of it
					}
					time.Sleep(time.Duration(random.Int64N(int64(longest))))
					over()
					if err := hold.Release(v.ctx); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		hist.disjoint(t, "in a row")
		if st := c.Stats(); st.Losses > 0 || st.HandedOver < 200 || st.Renewals < 20 {
			t.Errorf("stats %+v", st)
		}
	})
}
