//go:build unix

package load

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/benchmarks/internal/shared"
	"github.com/redlatch/redlatch/reentrant"
)

// churn is some goroutines that lock and unlock many names, each once: what an
// application does that has a lock for each order.
type churn struct {
	spec  Spec
	locks *reentrant.Client
	tally Tally
	ready footprint
}

// warmNames are names for each goroutine that come before the measurement, so that
// connections and goroutines are there.
const warmNames = 20

func openChurn(spec Spec) (*churn, error) {
	words, err := shared.Map(spec.Words)
	if err != nil {
		return nil, err
	}
	c := &churn{spec: spec, tally: NewTally(words, spec.Locks)}
	if c.locks, err = reentrant.New(redis.NewClient(&redis.Options{Addr: spec.Addr})); err != nil {
		return nil, err
	}
	if err := c.all(spec.Name+":warm", warmNames*spec.Goroutines, func() {}); err != nil {
		return nil, err
	}
	time.Sleep(10 * time.Millisecond) // the goroutines have ended
	c.ready = footprintNow()
	return c, nil
}

// all takes and gives back n locks, each of the goroutines its share of them.
func (c *churn) all(name string, n int, count func()) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	failed := firstError{then: func() {
		c.tally.fail()
		cancel()
	}}
	var workers sync.WaitGroup
	for g := range c.spec.Goroutines {
		workers.Go(func() {
			for i := g; i < n && ctx.Err() == nil; i += c.spec.Goroutines {
				lock := c.locks.NewLock(fmt.Sprintf("%s:%d", name, i))
				err := lock.Lock(ctx)
				if err == nil {
					err = lock.Unlock(ctx)
				}
				if failed.note(err); err == nil {
					count()
				}
			}
		})
	}
	workers.Wait()
	return failed.err
}

func (c *churn) run(win Window) (Recording, error) {
	win.Start.Sleep()
	cpu := processorTime()
	err := c.all(c.spec.Name, c.spec.Locks, c.tally.add)
	cost := &Cost{CPU: processorTime() - cpu}
	time.Sleep(c.spec.Rest)
	left := footprintNow().less(c.ready)
	cost.LeftMemory, cost.LeftGoroutines = left.memory(), left.goroutines
	return Recording{Cost: cost}, err
}
