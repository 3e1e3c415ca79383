package reentrant_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/reentrant"
)

// A row of holds with a lease that is short, and slow moves and renewals that overtake each other:
// nothing is lost.
func TestFaultBehindRenewedInARow(t *testing.T) {
	const lease = 400 * time.Millisecond
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		var mu sync.Mutex
		random := rand.New(rand.NewPCG(1, 4)) // guarded by mu
		v.onCommand(func(cmd string, args []string) string {
			if script := locktest.ScriptOf(append([]string{cmd}, args...)); script == "renew" || script == "transfer" {
				mu.Lock()
				slow := []time.Duration{0, 5 * time.Millisecond, 20 * time.Millisecond}[random.IntN(3)]
				mu.Unlock()
				time.Sleep(slow)
			}
			return ""
		})
		c := v.client(reentrant.WithLease(lease), locktest.WriteBehind)
		l := c.NewLock("l")
		var hist locktest.Tenures
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
					over := hist.Begin("one of four", hold)
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
		hist.Disjoint(t, "in a row")
		if st := c.Stats(); st.Losses > 0 || st.HandedOver < 200 || st.Renewals < 20 {
			t.Errorf("stats %+v", st)
		}
	})
}
