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

// Rows 16 to 20 for a read-write lock: requests and replies of one Client are lost, while its owners read, with a shared
// lease and with fixed ones, and write, beside another Client. Nobody writes beside another hold, and nothing
// is left, long before a lease ends.
func TestFault16ReadWriteLostReplies(t *testing.T) {
	t.Parallel()
	seeds := uint64(60)
	if testing.Short() {
		seeds = 8
	}
	const workers = 4
	s := redistest.Start(t)
	var faults, reads, writes, shared counter
	var group sync.WaitGroup
	for worker := range uint64(workers) {
		p := faultproxy.Start(t, s.Addr())
		lossy := s.Client(t, func(o *redis.Options) { o.Addr = p.Addr() }, locktest.Impatience(200*time.Millisecond))
		clean := s.Client(t)
		group.Go(func() {
			for seed := worker; seed < seeds && !t.Failed(); seed += workers {
				x := &rwOracle{t: t}
				hits, st := lostRW(t, s, x, p, lossy, clean, seed)
				faults.add(hits)
				reads.add(int(x.reads.Load()))
				writes.add(int(x.writes.Load()))
				shared.add(int(st.Shared))
			}
		})
	}
	group.Wait()
	t.Logf("%d seeds, %d faults, %d reads, %d of them without a command, %d writes", seeds, faults.n, reads.n, shared.n, writes.n)
	if faults.n == 0 || reads.n == 0 || writes.n == 0 || shared.n == 0 {
		t.Error("one of these did not happen")
	}
}

type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n += n
}

// lostRW is one seed.
func lostRW(t *testing.T, s *redistest.Server, x *rwOracle, p *faultproxy.Proxy, lossy, clean redis.UniversalClient, seed uint64) (faults int, of reentrant.Stats) {
	name := fmt.Sprint("rw-", seed)
	a, b := locktest.NewClient(t, lossy), locktest.NewClient(t, clean)
	actions := []faultproxy.Action{
		faultproxy.DropAfter, faultproxy.ResetAfter, faultproxy.DropBefore, faultproxy.SwallowReply, faultproxy.SwallowRequest,
	}
	chaos := p.Chaos(seed, 0.2, faultproxy.Named("EVALSHA", "EVAL"), actions...)
	var group sync.WaitGroup
	for i, c := range []*reentrant.Client{a, a, a, b} {
		group.Go(func() {
			program := &rwProgram{
				rwOracle: x, rand: rand.New(rand.NewPCG(seed, uint64(i))), rw: c.NewReadWriteLock(name), hold: 4 * time.Millisecond,
				all: reentrant.WithWait(2 * time.Second),
			}
			for range 12 {
				program.step(owner(t.Context(), fmt.Sprint("o", i)))
			}
		})
	}
	group.Wait()
	chaos.Remove()
	nothingLeft(t, s, name)
	for _, c := range []*reentrant.Client{a, b} {
		redistest.Eventually(t, 15*time.Second, "nothing is held", func() bool { return c.Stats().Held == 0 })
	}
	if n := a.Stats().Losses + b.Stats().Losses; n > 0 {
		t.Errorf("seed %d: %d losses", seed, n)
	}
	return chaos.Hits(), a.Stats()
}
