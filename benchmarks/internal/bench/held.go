//go:build unix

package bench

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/clock"
	"github.com/redlatch/redlatch/benchmarks/internal/load"
	"github.com/redlatch/redlatch/benchmarks/internal/peer"
	"github.com/redlatch/redlatch/benchmarks/internal/shared"
)

// Goals for many held locks.
const (
	heldLocks  = 100_000     // for which the first goal is meant
	heldCPU    = time.Second // of one core, for each period
	heldHeap   = 1024        // bytes for each lock
	heldPeriod = 2           // periods in the window, so that each lock is renewed in it
	readerHeap = 600         // bytes for each reader
)

// readerLease makes for a short window: one renewal costs the same with any lease.
const readerLease = 6 * time.Second

func lease(w Workload, c Config) time.Duration {
	if w.readers {
		return min(readerLease, c.Lease)
	}
	return c.Lease
}

func heldNote(c Config) string { return periodNote(c.Lease) }

func readersNote(c Config) string { return periodNote(min(readerLease, c.Lease)) }

func periodNote(lease time.Duration) string {
	return fmt.Sprintf("a lease of %v, renewed every %v; the window is two such periods, measured once", lease, lease/3)
}

// held measures what it costs to keep many locks: the holder is a process of its own,
// and this one is the other client, whose PINGs must not wait for the renewals.
func (r *runner) held(ctx context.Context, w Workload, size int) ([]sample, error) {
	if err := r.srv.Clear(ctx); err != nil {
		return nil, err
	}
	memory, err := r.srv.Memory(ctx)
	if err != nil {
		return nil, err
	}
	redlatch, _ := peer.Find("redlatch")
	spec := r.spec(w, redlatch)
	spec.Locks, spec.Lease, spec.Readers = size, lease(w, r.cfg), w.readers
	if err := shared.Create(spec.Words, 1); err != nil {
		return nil, err
	}
	defer os.Remove(spec.Words)
	group, err := load.Start(spec, w.Processes)
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
	win.Start.Sleep()
	o, err := r.observe(ctx, func() error { return nil }, func() bool { return clock.Now() >= win.End })
	if err != nil {
		return nil, err
	}
	recs, err := group.Results(win)
	if err != nil {
		return nil, err
	}
	if w.readers {
		return readerSamples(recs[0].Held, o, taken-memory), nil
	}
	return heldSamples(recs[0].Held, o, taken-memory), nil
}

// heldSamples are what it costs to keep many locks.
func heldSamples(k *load.Keeping, o observation, memory int64) []sample {
	n := float64(k.Locks)
	samples := []sample{
		processorSample(k).most(float64(heldCPU) * max(1, n/heldLocks)),
		{what: "of Redis, PINGs included", unit: Span, value: float64(o.cpu / heldPeriod)},
		{what: "renewals in the window", unit: Count, value: float64(k.Renewals)},
		{what: "EVALSHA in the window", unit: Count, value: float64(o.commands.Scripts())},
		sample{what: "goroutines more than with 64 locks", unit: Count, value: float64(k.Goroutines)}.most(0),
		sample{what: "heap per lock", unit: Bytes, value: float64(k.Heap) / n}.most(heldHeap),
		{what: "memory of Redis per lock", unit: Bytes, value: float64(memory) / n},
	}
	samples = append(samples, o.pingSamples()...)
	return append(samples, sample{what: "locks lost", unit: Count, value: float64(k.Lost)}.most(0))
}

// readerSamples are what it costs to keep many readers of one lock, who share a lease.
func readerSamples(k *load.Keeping, o observation, memory int64) []sample {
	n := float64(k.Locks)
	return []sample{
		processorSample(k),
		sample{what: "renewals in the window", unit: Count, value: float64(k.Renewals)}.most(heldPeriod + 1), // it may begin with one
		{what: "EVALSHA in the window", unit: Count, value: float64(o.commands.Scripts())},
		sample{what: "goroutines more than with 64 readers", unit: Count, value: float64(k.Goroutines)}.most(0),
		sample{what: "heap per reader", unit: Bytes, value: float64(k.Heap) / n}.most(readerHeap),
		{what: "memory of Redis for all", unit: Bytes, value: float64(memory)},
		sample{what: "readers lost", unit: Count, value: float64(k.Lost)}.most(0),
	}
}

func processorSample(k *load.Keeping) sample {
	return sample{what: "processor time per period", unit: Span, value: float64(max(0, k.CPU-k.IdleCPU) / heldPeriod)}
}
