package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/examples/internal/demo"
)

var roles = map[string]demo.Role{"shop": serve}

// job is what a process is told at its start.
type job struct {
	URL     string
	Prefix  string
	Way     string
	Process int
	Config  config
}

// report is what a process has to tell at its end.
type report struct {
	Waits  []time.Duration // of every click, for the lock
	Nested int64
}

// serve is one process of the shop: it says that it is ready, by the ID of its Client,
// waits for the opening, and serves its part of the clicks.
func serve(ctx context.Context, parent *demo.Parent) (err error) {
	var j job
	if err := parent.Receive(ctx, &j); err != nil {
		return err
	}
	opts, err := redis.ParseURL(j.URL)
	if err != nil {
		return err
	}
	rdb := redis.NewClient(opts)
	defer rdb.Close()
	lock, err := newGuard(j.Way, j.Prefix+"lock", rdb)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		err = errors.Join(err, lock.close(ctx))
	}()
	s := &shop{rdb: rdb, lock: lock, keys: keysOf(j.Prefix), payment: j.Config.Payment}
	if err := errors.Join(rdb.Ping(ctx).Err(), parent.Send(lock.client)); err != nil {
		return err
	}
	var open string
	if err := parent.Receive(ctx, &open); err != nil {
		return err
	}
	waits, err := s.serveAll(ctx, clicks(j.Config, j.Process), j.Config.Workers)
	if err != nil {
		return err
	}
	return parent.Send(report{Waits: waits, Nested: lock.nested()})
}

// clicks are those that a balancer sends to a process: of two clicks of a user the
// second goes to the next process.
func clicks(c config, process int) (users []string) {
	for user := range c.Users {
		for click := range 2 {
			if (user+click)%c.Processes == process {
				users = append(users, fmt.Sprintf("user-%d", user))
			}
		}
	}
	return users
}

// serveAll serves the clicks in their order, several at a time.
func (s *shop) serveAll(ctx context.Context, users []string, workers int) ([]time.Duration, error) {
	waits := make([]time.Duration, len(users))
	errs := make([]error, workers)
	var next atomic.Int64
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for errs[w] == nil {
				i := int(next.Add(1)) - 1
				if i >= len(users) {
					return
				}
				began := time.Now()
				err := s.order(ctx, users[i], func() { waits[i] = time.Since(began) })
				if err != nil && !refused(err) {
					errs[w] = fmt.Errorf("order of %s: %w", users[i], err)
				}
			}
		})
	}
	wg.Wait()
	return waits, errors.Join(errs...)
}
