package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/reentrant"
)

// ways are the locks with which the shop is run, the right one last.
var ways = []string{"no lock", "a mutex each", "Redlatch"}

// lease is how long the sale stands still when a process dies with the lock.
const lease = 5 * time.Second

// guard is the lock of one process, and what there is to know of it.
type guard struct {
	locker
	client string                      // the Client's ID, if there is one
	nested func() int64                // how often an owner took it that had it already
	close  func(context.Context) error // ends it
}

func newGuard(way, name string, rdb *redis.Client) (guard, error) {
	none := func(context.Context) error { return nil }
	switch way {
	case "no lock":
		return guard{locker: noLock{}, nested: func() int64 { return 0 }, close: none}, nil
	case "a mutex each":
		m := &mutex{}
		return guard{locker: m, nested: m.nested.Load, close: none}, nil
	case "Redlatch":
		var nested atomic.Int64
		client, err := reentrant.New(rdb, reentrant.WithLease(lease),
			reentrant.WithEvents(reentrant.Events{Reentered: func(reentrant.Event) { nested.Add(1) }}))
		if err != nil {
			return guard{}, err
		}
		return guard{client.NewLock(name), client.ID(), nested.Load, client.Close}, nil
	default:
		return guard{}, fmt.Errorf("no lock is called %q", way)
	}
}

// noLock lets everybody in.
type noLock struct{}

func (noLock) Do(ctx context.Context, fn func(ctx context.Context) error) error { return fn(ctx) }

// mutex keeps the goroutines of this process apart, and no others. sync.Mutex knows no
// owner, and would wait for itself in a call chain: this one has the ctx say who holds it.
type mutex struct {
	mu     sync.Mutex
	nested atomic.Int64
}

type holding struct{ *mutex }

func (m *mutex) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	if ctx.Value(holding{m}) != nil {
		m.nested.Add(1)
		return fn(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return fn(context.WithValue(ctx, holding{m}, true))
}

// refused reports whether the shop has done well to take no order.
func refused(err error) bool { return errors.Is(err, errSoldOut) || errors.Is(err, errTwice) }
