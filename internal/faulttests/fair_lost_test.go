package faulttests

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// Rows 16 to 20 for a fair lock: requests and replies of one Client are lost while its calls stand in line with
// another Client's, get the lock, give up and let go. Whom Redis had in the line before another call began is
// granted the lock before it, and nothing is left, long before a lease ends.
func TestFault16FairLostReplies(t *testing.T) {
	t.Parallel()
	seeds := uint64(60)
	if testing.Short() {
		seeds = 8
	}
	const workers = 4
	s := redistest.Start(t)
	var faults counter
	var group sync.WaitGroup
	for worker := range uint64(workers) {
		p := faultproxy.Start(t, s.Addr())
		lossy := s.Client(t, func(o *redis.Options) { o.Addr = p.Addr() }, locktest.Impatience(100*time.Millisecond))
		clean := s.Client(t)
		group.Go(func() {
			for seed := worker; seed < seeds && !t.Failed(); seed += workers {
				faults.add(lostFair(t, s, p, lossy, clean, seed))
			}
		})
	}
	group.Wait()
	t.Logf("%d seeds, %d faults", seeds, faults.n)
	if faults.n == 0 {
		t.Error("nothing was lost")
	}
}

// lostFair is one seed.
func lostFair(t *testing.T, s *redistest.Server, p *faultproxy.Proxy, lossy, clean redis.UniversalClient, seed uint64) (faults int) {
	const calls = 8
	r := rand.New(rand.NewPCG(seed, 16))
	f := &fairTurns{t: t, name: fmt.Sprint("fair-", seed), node: func() *redistest.Server { return s }}
	clients := []*reentrant.Client{locktest.NewClient(t, lossy), locktest.NewClient(t, clean)}
	chaos := p.Chaos(seed, 0.15, faultproxy.Named("EVALSHA", "EVAL"),
		faultproxy.DropAfter, faultproxy.ResetAfter, faultproxy.DropBefore, faultproxy.SwallowReply, faultproxy.SwallowRequest)
	first, err := clients[seed%2].NewFairLock(f.name).Acquire(owner(t.Context(), "first"))
	must(t, err)
	for i := range calls {
		c := clients[r.IntN(2)]
		if r.IntN(3) == 0 { // gives up, in front of the next
			limit := r.IntN(30)
			f.group.Go(func() {
				me := owner(t.Context(), fmt.Sprint("gone", i))
				if ok, _ := c.NewFairLock(f.name).TryLock(me, time.Duration(1+limit)*time.Millisecond, 0); ok {
					_ = c.NewFairLock(f.name).Unlock(me) // a lost reply has kept it in the line until its turn
				}
			})
		}
		f.joins(c, i, time.Duration(r.IntN(2000))*time.Microsecond)
	}
	_ = first.Release(t.Context()) // its reply may be lost
	f.want(calls)
	chaos.Remove()
	nothingLeft(t, s, f.name)
	redistest.Eventually(t, 15*time.Second, "nobody is in the line", func() bool {
		return s.Do(t, "EXISTS", "redisson_lock_queue:{"+f.name+"}", "redisson_lock_timeout:{"+f.name+"}") == int64(0)
	})
	for i, c := range clients {
		redistest.Eventually(t, 15*time.Second, "nothing is held", func() bool { return c.Stats().Held == 0 })
		if n := c.Stats().Losses; n > 0 {
			t.Errorf("seed %d: client %d: %d losses", seed, i, n)
		}
	}
	return chaos.Hits()
}
