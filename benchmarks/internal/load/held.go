//go:build unix

package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/reentrant"
)

// Keeping is what it costs to keep many locks. The processor time is that of the
// process that holds them, over the window.
type Keeping struct {
	Locks      int
	Period     time.Duration // of renewal: a third of the lease
	IdleCPU    time.Duration // with no locks held, for a window as long
	CPU        time.Duration
	Heap       int64 // bytes for all locks together
	Goroutines int   // more than before
	Renewals   uint64
	Lost       uint64
}

// keeper holds many locks. Only Redlatch is measured so: the other libraries have a
// goroutine for each lock, or do not renew.
type keeper struct {
	spec       Spec
	rdb        *redis.Client
	locks      *reentrant.Client
	heap       int64
	goroutines int
	idle       time.Duration // processor time without locks, of idleFor
}

const (
	idleFor = time.Second
	takers  = 64 // goroutines that take the locks
)

// openKeeper takes the locks, which is not part of what is measured.
func openKeeper(spec Spec) (*keeper, error) {
	k := &keeper{spec: spec, rdb: redis.NewClient(&redis.Options{Addr: spec.Addr})}
	var err error
	if k.locks, err = reentrant.New(k.rdb, reentrant.WithLease(spec.Lease)); err != nil {
		return nil, err
	}
	if err := k.take(0, takers); err != nil { // connections and goroutines that come with the first
		return nil, err
	}
	cpu := processorTime()
	time.Sleep(idleFor)
	k.idle = processorTime() - cpu
	before := footprintNow()
	if err := k.take(takers, spec.Locks); err != nil {
		return nil, err
	}
	more := footprintNow().less(before)
	k.heap, k.goroutines = more.heap, more.goroutines
	return k, nil
}

// take takes the locks numbered from first to before end. The owner is not the
// goroutine, since the goroutines end here and the locks stay held.
func (k *keeper) take(first, end int) error {
	ctx := context.Background()
	errs := make([]error, takers)
	var wg sync.WaitGroup
	for t := range takers {
		wg.Go(func() {
			for n := first + t; n < end && errs[t] == nil; n += takers {
				errs[t] = k.takeOne(ctx, n)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// takeOne takes one lock, or is one reader of the only one.
func (k *keeper) takeOne(ctx context.Context, n int) error {
	if k.spec.Readers {
		return k.locks.NewReadWriteLock(k.spec.Name).RLock(reentrant.WithOwner(ctx, fmt.Sprintf("reader-%d", n)))
	}
	return k.locks.NewLock(fmt.Sprintf("%s:%d", k.spec.Name, n)).Lock(reentrant.WithOwner(ctx, "keeper"))
}

func (k *keeper) run(win Window) (Recording, error) {
	win.Start.Sleep()
	cpu, stats := processorTime(), k.locks.Stats()
	win.End.Sleep()
	used, now := processorTime()-cpu, k.locks.Stats()
	rec := Recording{Held: &Keeping{
		Locks:      now.Held,
		Period:     k.spec.Lease / 3,
		IdleCPU:    time.Duration(float64(k.idle) * win.Length().Seconds() / idleFor.Seconds()),
		CPU:        used,
		Heap:       k.heap,
		Goroutines: k.goroutines,
		Renewals:   now.Renewals - stats.Renewals,
		Lost:       now.Losses,
	}}
	if now.Held != k.spec.Locks {
		return rec, fmt.Errorf("%d locks held, want %d", now.Held, k.spec.Locks)
	}
	return rec, nil
}
