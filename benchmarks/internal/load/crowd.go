//go:build unix

package load

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/benchmarks/internal/shared"
	"github.com/redlatch/redlatch/reentrant"
)

// crowd is many goroutines that wait for one lock. The parent holds it until all
// of them do. Only Redlatch is measured so: a goroutine that polls costs something else.
type crowd struct {
	spec  Spec
	locks *reentrant.Client
	words *shared.Words
	tally Tally

	ctx        context.Context // of the waits
	stop       context.CancelFunc
	waiters    sync.WaitGroup
	failed     firstError
	violations atomic.Int64

	waiting, ready footprint // more than before, while all wait; and before they came
}

// waitWithin is how long it may take until all are in the queue.
const waitWithin = time.Minute

// openCrowd returns when all wait.
func openCrowd(spec Spec) (*crowd, error) {
	words, err := shared.Map(spec.Words)
	if err != nil {
		return nil, err
	}
	c := &crowd{spec: spec, words: words, tally: NewTally(words, spec.Total)}
	if c.locks, err = reentrant.New(redis.NewClient(&redis.Options{Addr: spec.Addr})); err != nil {
		return nil, err
	}
	first := c.locks.NewLock(fmt.Sprintf("%s:first:%d", spec.Name, spec.Process))
	if err := first.Do(context.Background(), func(context.Context) error { return nil }); err != nil {
		return nil, err
	}
	before := footprintNow()
	idle(spec.Goroutines)
	c.ready = footprintNow()

	c.ctx, c.stop = context.WithCancel(context.Background())
	c.failed.then = func() {
		c.tally.fail()
		c.stop()
	}
	for range spec.Goroutines {
		c.waiters.Go(func() { c.failed.note(c.takeOnce()) })
	}
	for began := time.Now(); c.locks.Stats().Waiting < spec.Goroutines; time.Sleep(time.Millisecond) {
		if time.Since(began) > waitWithin {
			return nil, fmt.Errorf("%d of %d wait after %v", c.locks.Stats().Waiting, spec.Goroutines, waitWithin)
		}
	}
	c.waiting = footprintNow().less(before)
	return c, nil
}

// idle has n goroutines come and go. The runtime keeps some bytes for each for ever,
// which would pass for something that the locks have left behind.
func idle(n int) {
	var all sync.WaitGroup
	end := make(chan struct{})
	for range n {
		all.Go(func() { <-end })
	}
	close(end)
	all.Wait()
	time.Sleep(10 * time.Millisecond) // done is not gone
}

// takeOnce is one waiter. The lock is a value of its own, as where the name comes
// with a request.
func (c *crowd) takeOnce() error {
	lock := c.locks.NewLock(c.spec.Name)
	if err := lock.Lock(c.ctx); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	guard := shared.GuardAt(c.words.Word(wordInside))
	alone := guard.Enter()
	if alone = guard.Leave() && alone; !alone {
		c.violations.Add(1)
	}
	if err := lock.Unlock(context.Background()); err != nil {
		return fmt.Errorf("unlock: %w", err)
	}
	c.tally.add()
	return nil
}

// run returns when all have had the lock and the client has come to rest. The end
// of the window is only a limit.
func (c *crowd) run(win Window) (Recording, error) {
	defer time.AfterFunc(win.End.Until(), c.stop).Stop()
	win.Start.Sleep()
	cpu := processorTime()
	c.waiters.Wait()
	cost := &Cost{
		Memory: c.waiting.memory(), Stacks: c.waiting.stacks, Goroutines: c.waiting.goroutines,
		CPU: processorTime() - cpu,
	}
	time.Sleep(c.spec.Rest)
	left := footprintNow().less(c.ready)
	cost.LeftMemory, cost.LeftGoroutines = left.memory(), left.goroutines
	return Recording{Violations: int(c.violations.Load()), Cost: cost}, c.failed.err
}
