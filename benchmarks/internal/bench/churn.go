//go:build unix

package bench

import (
	"context"
	"errors"

	"github.com/redlatch/redlatch/benchmarks/internal/clock"
	"github.com/redlatch/redlatch/benchmarks/internal/load"
	"github.com/redlatch/redlatch/benchmarks/internal/peer"
)

// churn has many names locked and unlocked, each once, and looks at what is left.
func (r *runner) churn(ctx context.Context, w Workload, size int) ([]sample, error) {
	if err := r.srv.Clear(ctx); err != nil {
		return nil, err
	}
	redlatch, _ := peer.Find("redlatch")
	spec := r.spec(w, redlatch)
	spec.Locks, spec.Rest = size, r.cfg.Rest
	tally, remove, err := newTally(spec, size)
	if err != nil {
		return nil, err
	}
	defer remove()
	group, err := load.Start(spec, w.Processes)
	if err != nil {
		return nil, err
	}
	defer group.Stop()
	before, err := r.leftovers(ctx)
	if err != nil {
		return nil, err
	}

	start := clock.Now().Add(r.cfg.Warm)
	win := load.Window{Start: start, End: start.Add(serveWithin)}
	o, err := r.observe(ctx, func() error {
		defer start.Sleep()
		return group.Begin(win)
	}, func() bool { return tally.Over() || clock.Now() > win.End })
	if err != nil {
		return nil, err
	}
	recs, err := group.Results(win)
	if err := errors.Join(err, check(tally.Served(), size)); err != nil {
		return nil, err
	}
	after, err := r.leftovers(ctx)
	if err != nil {
		return nil, err
	}
	last, _ := tally.Last()
	took, n := float64(last.Sub(start)), float64(size)
	cost := total(recs)
	samples := []sample{
		{what: "time for all", unit: Span, value: took},
		{what: "the same, per lock", unit: Span, value: took / n},
		{what: "processor time, per lock", unit: Span, value: float64(cost.CPU) / n},
		{what: "of Redis, PINGs included, per lock", unit: Span, value: float64(o.cpu) / n},
		{what: "EVALSHA per lock", unit: Share, value: float64(o.commands.Scripts()) / n},
		{what: "commands per lock", unit: Share, value: float64(o.commands.Total()) / n},
	}
	samples = append(samples, o.pingSamples()...)
	return append(samples, leftSamples(cost, before, after, w.Processes)...), nil
}
