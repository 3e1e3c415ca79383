package faulttests

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// Four clients of four owners each want one lock, while their commands are lost,
// answered into the void, slow and doubled, and their connections closed. No two
// may believe at the same time that they have it, and tokens rise.
func TestFaultExclusion(t *testing.T) {
	t.Parallel()
	excludes(t, []reentrant.LockOption{reentrant.WithFencing()})
}

// The same with write-behind hand-offs, for which there are no tokens.
func TestFaultExclusionWriteBehind(t *testing.T) {
	t.Parallel()
	excludes(t, nil, locktest.WriteBehind)
}

func excludes(t *testing.T, lockOptions []reentrant.LockOption, options ...reentrant.Option) {
	t.Helper()
	duration := 6 * time.Second
	if testing.Short() {
		duration = time.Second
	}
	seed := uint64(time.Now().UnixNano())
	s := redistest.Start(t)
	var hist locktest.Tenures
	var failed, lost atomic.Int64
	var clients, nemesis sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), duration)
	defer cancel()
	var faults []*faultproxy.RuleHandle
	var all []*reentrant.Client
	for i := range 4 {
		p := faultproxy.Start(t, s.Addr())
		r := &faultRig{s, p}
		faults = append(faults, p.Chaos(seed+uint64(i), 0.05, anyScript,
			faultproxy.DropBefore, faultproxy.DropAfter, faultproxy.ResetAfter, faultproxy.SwallowReply,
			faultproxy.Duplicate, faultproxy.Delay(20*time.Millisecond)))
		// The lease is short enough to end now and then under all this.
		c := faultClient(t, r.through(t, locktest.Impatience(100*time.Millisecond)),
			append(options, reentrant.WithLease(400*time.Millisecond))...)
		all = append(all, c)
		l := c.NewLock("l", lockOptions...)
		for o := range 4 {
			clients.Go(func() {
				who := fmt.Sprintf("%d/%d", i, o)
				random := rand.New(rand.NewPCG(seed, uint64(4*i+o)))
				for ctx.Err() == nil {
					oneTenure(owner(ctx, strconv.Itoa(o)), l, random, &hist, who, &failed, &lost)
				}
			})
		}
		nemesis.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(100+i)))
			for ctx.Err() == nil {
				time.Sleep(time.Duration(random.IntN(500)) * time.Millisecond)
				p.CloseAll([]faultproxy.Class{faultproxy.Any, faultproxy.Command, faultproxy.PubSub}[random.IntN(3)])
			}
		})
	}
	clients.Wait()
	nemesis.Wait()
	hits := 0
	for _, f := range faults {
		hits += f.Hits()
		f.Remove()
	}
	var handedOver uint64
	for _, c := range all {
		handedOver += c.Stats().HandedOver
	}
	t.Logf("seed %d: %d tenures, %d hand-offs, %d faults, %d calls failed, %d holds lost",
		seed, hist.Len(), handedOver, hits, failed.Load(), lost.Load())
	if hist.Len() < 50 && !testing.Short() {
		t.Errorf("seed %d: only %d tenures: the workload does not show much", seed, hist.Len())
	}
	hist.Disjoint(t, fmt.Sprintf("seed %d", seed))
	for _, c := range all {
		locktest.CloseQuickly(t, c)
	}
	locktest.TidyWithin(t, s, 3*time.Second, "l")
}

// oneTenure acquires, keeps the lock for a while that may outlast its lease, and
// releases it.
func oneTenure(ctx context.Context, l *reentrant.Lock, random *rand.Rand, hist *locktest.Tenures, who string, failed, lost *atomic.Int64) {
	var opts []reentrant.AcquireOption
	if random.IntN(4) == 0 {
		opts = append(opts, reentrant.WithFixedLease(30*time.Millisecond))
	}
	hold, err := l.Acquire(ctx, opts...)
	if err != nil {
		failed.Add(1)
		return
	}
	end := hist.Begin(who, hold)
	keep := time.NewTimer(time.Duration(random.Int64N(int64(time.Millisecond))))
	if random.IntN(100) == 0 {
		keep.Reset(150 * time.Millisecond) // renewed meanwhile, or at the end of its fixed lease
	}
	defer keep.Stop()
	select {
	case <-keep.C:
	case <-hold.Lost():
		lost.Add(1)
	}
	end()
	release, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_ = hold.Release(release) // lost or unconfirmed: the history tells whether it mattered
}
