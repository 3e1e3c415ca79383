//go:build unix

package bench

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/clock"
	"github.com/redlatch/redlatch/benchmarks/internal/load"
	"github.com/redlatch/redlatch/benchmarks/internal/shared"
)

// Goals for many held locks.
const (
	heldLocks  = 100_000     // for which the first goal is meant
	heldCPU    = time.Second // of one core, for each period
	heldHeap   = 1024        // bytes for each lock
	heldPing   = 5 * time.Millisecond
	heldPeriod = 2 // periods in the window, so that each lock is renewed in it
)

// held measures what it costs to keep many locks: the holder is a process of its own,
// and this one is the other client, whose PINGs must not wait for the renewals.
func (r *runner) held(ctx context.Context, w Workload) (*HeldResult, error) {
	r.step(fmt.Sprintf("%s: redlatch, %d locks", w.Name, r.cfg.Locks))
	if err := r.srv.Clear(ctx); err != nil {
		return nil, err
	}
	memory, err := r.srv.Memory(ctx)
	if err != nil {
		return nil, err
	}
	spec := r.spec(w, r.participants(w)[0])
	spec.Locks, spec.Lease = r.cfg.Locks, r.cfg.Lease
	if err := shared.Create(spec.Words, 1); err != nil {
		return nil, err
	}
	defer os.Remove(spec.Words)
	group, err := load.Start(spec, 1)
	if err != nil {
		return nil, err
	}
	defer group.Stop()
	taken, err := r.srv.Memory(ctx)
	if err != nil {
		return nil, err
	}

	start := clock.Now().Add(100 * time.Millisecond)
	win := load.Window{Start: start, End: start.Add(heldPeriod * spec.Lease / 3)}
	if err := group.Begin(win); err != nil {
		return nil, err
	}
	res, err := r.watch(ctx, win)
	if err != nil {
		return nil, err
	}
	recs, err := group.Results(win)
	if err != nil {
		return nil, err
	}
	k := recs[0].Held
	res.Locks, res.Period = k.Locks, k.Period
	res.CPU = max(0, k.CPU-k.IdleCPU) / heldPeriod
	res.Renewals, res.Lost, res.Goroutines = k.Renewals, k.Lost, k.Goroutines
	res.HeapPerLock = float64(k.Heap) / float64(k.Locks)
	res.ServerMemory = float64(taken-memory) / float64(k.Locks)
	res.judge()
	return res, nil
}

// watch sends PINGs through the window and counts what else the server does.
func (r *runner) watch(ctx context.Context, win load.Window) (*HeldResult, error) {
	win.Start.Sleep()
	if err := r.srv.ResetCommands(ctx); err != nil {
		return nil, err
	}
	before, err := r.srv.CPU(ctx)
	if err != nil {
		return nil, err
	}
	var pings []time.Duration
	for clock.Now() < win.End {
		some, err := r.srv.Ping(ctx, 50, time.Millisecond)
		if err != nil {
			return nil, err
		}
		pings = append(pings, some...)
	}
	after, err := r.srv.CPU(ctx)
	if err != nil {
		return nil, err
	}
	counts, err := r.srv.Commands(ctx)
	if err != nil {
		return nil, err
	}
	slices.Sort(pings)
	return &HeldResult{
		Window: win.Length(), ServerCPU: (after - before) / heldPeriod, Scripts: counts.Scripts(),
		Pings: len(pings), PingP50: percentile(pings, 0.5), PingP99: percentile(pings, 0.99), PingMax: percentile(pings, 1),
	}, nil
}

func (res *HeldResult) judge() {
	most := func(what string, value, limit float64) {
		res.Outcomes = append(res.Outcomes, Outcome{
			Goal:  fmt.Sprintf("redlatch: %s, at most %.4g", what, limit),
			Value: value, Met: value <= limit, Missed: value > limit,
		})
	}
	most("seconds of one core per period", res.CPU.Seconds(), heldCPU.Seconds()*max(1, float64(res.Locks)/heldLocks))
	most("goroutines more", float64(res.Goroutines), 0)
	most("bytes of heap per lock", res.HeapPerLock, heldHeap)
	most("milliseconds of another client's PING, p99", float64(res.PingP99)/1e6, float64(heldPing)/1e6)
	most("locks lost", float64(res.Lost), 0)
}
