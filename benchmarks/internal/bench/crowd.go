//go:build unix

package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/clock"
	"github.com/redlatch/redlatch/benchmarks/internal/load"
	"github.com/redlatch/redlatch/benchmarks/internal/peer"
	"github.com/redlatch/redlatch/benchmarks/internal/shared"
)

// crowd holds a lock until many wait for it, in one process or several, then lets go
// and looks at how they are served. Each has the lock once.
func (r *runner) crowd(ctx context.Context, w Workload, size int) (_ []sample, err error) {
	if err := r.srv.Clear(ctx); err != nil {
		return nil, err
	}
	redlatch, _ := peer.Find("redlatch")
	spec := r.spec(w, redlatch)
	spec.Goroutines = size / w.Processes
	spec.Total, spec.Rest = spec.Goroutines*w.Processes, r.cfg.Rest
	tally, remove, err := newTally(spec, spec.Total)
	if err != nil {
		return nil, err
	}
	defer remove()

	before, err := r.leftovers(ctx)
	if err != nil {
		return nil, err
	}
	client, err := redlatch.Open(spec.Addr)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	first := client.Lock(spec.Name)
	if err := first.Acquire(ctx); err != nil {
		return nil, err
	}
	group, err := load.Start(spec, w.Processes)
	if err != nil {
		return nil, err
	}
	defer group.Stop()
	time.Sleep(r.cfg.Warm) // the last subscriptions are confirmed
	waiting, err := r.leftovers(ctx)
	if err != nil {
		return nil, err
	}

	win := load.Window{Start: clock.Now(), End: clock.Now().Add(serveWithin)}
	if err := group.Begin(win); err != nil {
		return nil, err
	}
	var released clock.Instant
	o, err := r.observe(ctx, func() error {
		released = clock.Now()
		return first.Release(ctx)
	}, func() bool { return tally.Over() || clock.Now() > win.End })
	if err != nil {
		return nil, err
	}
	recs, err := group.Results(win)
	if err := cmp.Or(load.Excluded(recs), err); err != nil {
		return nil, err
	}
	if err := check(tally.Served(), spec.Total); err != nil {
		return nil, err
	}
	after, err := r.leftovers(ctx)
	if err != nil {
		return nil, err
	}
	last, _ := tally.Last()
	took, n := float64(last.Sub(released)), float64(spec.Total)
	cost := total(recs)
	channels, more := waiting.clients.Channels-before.clients.Channels, waiting.clients.Subscriptions-before.clients.Subscriptions
	samples := []sample{
		{what: "time until all were served", unit: Span, value: took},
		{what: "the same, per waiter", unit: Span, value: took / n},
		{what: "processor time, per waiter", unit: Span, value: float64(cost.CPU) / n},
		{what: "of Redis, PINGs included, per waiter", unit: Span, value: float64(o.cpu) / n},
		{what: "heap and stack, per waiter", unit: Bytes, value: float64(cost.Memory) / n},
		{what: "of that, stack", unit: Bytes, value: float64(cost.Stacks) / n},
		{what: "goroutines per waiter, its own included", unit: Share, value: float64(cost.Goroutines) / n},
		{what: "channels with subscribers", unit: Count, value: float64(channels)},
		{what: "subscriptions", unit: Count, value: float64(more)},
		{what: "EVALSHA per acquisition", unit: Share, value: float64(o.commands.Scripts()) / n},
		{what: "commands per acquisition", unit: Share, value: float64(o.commands.Total()) / n},
	}
	samples = append(samples, o.pingSamples()...)
	return append(samples, leftSamples(cost, before, after, w.Processes)...), nil
}

func restNote(c Config) string { return fmt.Sprintf("left behind: %v after the last unlock", c.Rest) }

// newTally makes the words of a crowd or a churn, and says how they are to be removed.
func newTally(spec load.Spec, n int) (_ load.Tally, remove func(), err error) {
	if err := shared.Create(spec.Words, 4); err != nil {
		return load.Tally{}, nil, err
	}
	words, err := shared.Map(spec.Words)
	if err != nil {
		return load.Tally{}, nil, err
	}
	return load.NewTally(words, n), func() {
		_ = words.Unmap()
		os.Remove(spec.Words)
	}, nil
}

// total is the cost to all processes.
func total(recs []load.Recording) (sum load.Cost) {
	for _, rec := range recs {
		sum.Memory += rec.Cost.Memory
		sum.Stacks += rec.Cost.Stacks
		sum.Goroutines += rec.Cost.Goroutines
		sum.CPU += rec.Cost.CPU
		sum.LeftMemory += rec.Cost.LeftMemory
		sum.LeftGoroutines += rec.Cost.LeftGoroutines
	}
	return sum
}

// leftSamples are what is left when all is at rest. The processes still run.
func leftSamples(cost load.Cost, before, after leftovers, processes int) []sample {
	n := float64(processes)
	return []sample{
		sample{what: "left behind: heap and stack", unit: Bytes, value: float64(cost.LeftMemory)}.most(n * leftMemory),
		sample{what: "left behind: goroutines", unit: Count, value: float64(cost.LeftGoroutines)}.most(n * leftGoroutines),
		sample{what: "left behind: keys in Redis", unit: Count, value: float64(after.keys - before.keys)}.most(0),
		sample{what: "left behind: channels", unit: Count, value: float64(after.clients.Channels - before.clients.Channels)}.most(0),
		{what: "left behind: memory of Redis, connections included", unit: Bytes, value: float64(after.memory - before.memory)},
	}
}
