package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/redlatch/redlatch/examples/internal/demo"
)

// hold holds one sale, with that lock.
func hold(ctx context.Context, rdb *demo.Redis, log *demo.Log, c config, way string) (r result, err error) {
	j := job{URL: rdb.URL, Prefix: "{flashsale-" + uuid.NewString()[:8] + "}:", Way: way, Config: c}
	k := keysOf(j.Prefix)
	var clients []string
	defer func() { err = errors.Join(err, cleanUp(ctx, rdb, j.Prefix, clients)) }()
	if err := rdb.Set(ctx, k.Stock, c.Items, 0).Err(); err != nil {
		return r, err
	}
	processes, clients, err := startAll(ctx, j)
	defer func() {
		for _, p := range processes {
			err = errors.Join(err, p.End())
		}
	}()
	if err != nil {
		return r, err
	}

	stop := progress(ctx, rdb, log, c, way, k)
	began := time.Now()
	reports, err := sell(ctx, processes)
	took := time.Since(began)
	stop()
	if err != nil {
		return r, err
	}
	return count(ctx, rdb, way, k, c, reports, took)
}

// startAll starts the processes and returns when all are ready, with the IDs of their
// Clients. It returns those that it has started also with an error.
func startAll(ctx context.Context, j job) (processes []*demo.Process, clients []string, err error) {
	for i := range j.Config.Processes {
		j.Process = i
		p, err := demo.Start("shop", j)
		if err != nil {
			return processes, nil, err
		}
		processes = append(processes, p)
	}
	for _, p := range processes {
		var client string
		if err := p.Receive(ctx, &client); err != nil {
			return processes, clients, fmt.Errorf("a process did not get ready: %w", err)
		}
		clients = append(clients, client)
	}
	return processes, clients, nil
}

// sell opens the doors and waits until all are served.
func sell(ctx context.Context, processes []*demo.Process) (reports []report, err error) {
	for _, p := range processes {
		if err := p.Send("open"); err != nil {
			return nil, err
		}
	}
	for _, p := range processes {
		var r report
		if err := p.Receive(ctx, &r); err != nil {
			return nil, fmt.Errorf("a process did not report: %w", err)
		}
		reports = append(reports, r)
	}
	return reports, nil
}

// progress shows on a terminal how the sale goes, until stop is called.
func progress(ctx context.Context, rdb *demo.Redis, log *demo.Log, c config, way string, k keys) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for demo.Sleep(ctx, 50*time.Millisecond) == nil {
			orders, err := rdb.LLen(ctx, k.Orders).Result()
			if err == nil {
				log.Status("%-12s  %d orders for %d items", way, orders, c.Items)
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// count finds out what was sold, from the orders that were written.
func count(ctx context.Context, rdb *demo.Redis, way string, k keys, c config, reports []report, took time.Duration) (r result, err error) {
	orders, err := rdb.LRange(ctx, k.Orders, 0, -1).Result()
	if err != nil {
		return r, err
	}
	r = result{Way: way, Orders: len(orders), Oversold: max(0, len(orders)-c.Items), Took: took}
	of := make(map[string]int)
	for _, user := range orders {
		if of[user]++; of[user] == 2 {
			r.Twice++
		}
	}
	for _, report := range reports {
		r.Nested += report.Nested
		r.Waits = append(r.Waits, report.Waits...)
	}
	slices.Sort(r.Waits)
	return r, nil
}

// cleanUp removes the data of a sale, and what the processes have left of its lock if
// they were interrupted. They are gone by then.
func cleanUp(ctx context.Context, rdb *demo.Redis, prefix string, clients []string) error {
	k := keysOf(prefix)
	errs := []error{rdb.Del(context.WithoutCancel(ctx), k.Stock, k.Buyers, k.Orders).Err()}
	for _, client := range clients {
		errs = append(errs, rdb.Forget(ctx, client, prefix+"lock"))
	}
	return errors.Join(errs...)
}
