//go:build unix

package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/server"
)

// observation is what another client sees of the server while work goes on.
type observation struct {
	commands server.Commands // the observer's PINGs taken out
	cpu      time.Duration   // of Redis, PINGs included
	pings    []time.Duration // sorted
}

// pingPause goes before each PING.
const pingPause = time.Millisecond

// pingLimit is what another client's PING may take, 99 times in a hundred.
const pingLimit = 5 * time.Millisecond

// observe begins some work, and sends PINGs until it is done, at least one.
func (r *runner) observe(ctx context.Context, begin func() error, done func() bool) (o observation, err error) {
	if err := r.srv.ResetCommands(ctx); err != nil {
		return o, err
	}
	before, err := r.srv.CPU(ctx)
	if err != nil {
		return o, err
	}
	if err := begin(); err != nil {
		return o, err
	}
	for over := false; !over; over = done() {
		one, err := r.srv.Ping(ctx, 1, pingPause)
		if err != nil {
			return o, err
		}
		o.pings = append(o.pings, one...)
	}
	after, err := r.srv.CPU(ctx)
	if err != nil {
		return o, err
	}
	if o.commands, err = r.srv.Commands(ctx); err != nil {
		return o, err
	}
	o.commands["ping"] -= int64(len(o.pings))
	o.cpu = after - before
	slices.Sort(o.pings)
	return o, nil
}

// pingSamples are what the PINGs tell.
func (o observation) pingSamples() []sample {
	return []sample{
		{what: "another client's PING, p50", unit: Span, value: float64(percentile(o.pings, 0.5))},
		sample{what: "another client's PING, p99", unit: Span, value: float64(percentile(o.pings, 0.99))}.most(float64(pingLimit)),
		{what: "another client's PING, longest", unit: Span, value: float64(percentile(o.pings, 1))},
		{what: "PINGs", unit: Count, value: float64(len(o.pings))},
	}
}

// leftovers is what is on the server at a moment, to be compared with another.
type leftovers struct {
	keys    int
	memory  int64
	clients server.Clients
}

func (r *runner) leftovers(ctx context.Context) (l leftovers, err error) {
	if l.keys, err = r.srv.Keys(ctx); err != nil {
		return l, err
	}
	if l.clients, err = r.srv.Clients(ctx); err != nil {
		return l, err
	}
	l.memory, err = r.srv.Memory(ctx)
	return l, err
}

// Limits of what a process may leave behind, whatever the size.
const (
	leftMemory     = 1 << 20 // bytes
	leftGoroutines = 0
)

// check is an error when fewer were served than should have been.
func check(served, want int) error {
	if served < want {
		return fmt.Errorf("only %d of %d had been served after %v", served, want, serveWithin)
	}
	return nil
}

// serveWithin is the longest that a crowd or a churn may take.
const serveWithin = 5 * time.Minute
