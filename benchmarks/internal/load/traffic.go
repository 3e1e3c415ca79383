//go:build unix

package load

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redlatch/redlatch/benchmarks/internal/peer"
	"github.com/redlatch/redlatch/benchmarks/internal/shared"
)

// holdersOfEach is how many goroutines take turns at each member, so that it is
// hardly ever free.
const holdersOfEach = 2

// traffic has the goroutines of another Client hold each member of the lock, each by
// itself, until ctx ends.
func (p *process) traffic(ctx context.Context) error {
	names := peer.Members(p.spec.Peer, p.spec.Name)
	errs := make([]error, holdersOfEach*len(names))
	var wg sync.WaitGroup
	for i := range errs {
		member := i % len(names)
		wg.Go(func() {
			errs[i] = p.busy(ctx, p.others.Lock(names[member]), shared.GuardAt(p.words.Word(member)))
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// busy is one of these goroutines.
func (p *process) busy(ctx context.Context, lock peer.Lock, guard shared.Guard) error {
	for ctx.Err() == nil {
		if _, over, err := p.acquire(ctx, lock); over || err != nil {
			return err
		}
		p.hold([]shared.Guard{guard}, p.spec.Traffic, false)
		if err := release(lock); err != nil {
			return fmt.Errorf("traffic: unlock: %w", err)
		}
	}
	return nil
}
