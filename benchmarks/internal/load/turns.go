//go:build unix

package load

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/clock"
	"github.com/redlatch/redlatch/benchmarks/internal/shared"
)

// turns takes the lock again and again. What is granted after the window is given
// back at once without going inside: a library may end a hold when its ctx does.
func (p *process) turns(ctx context.Context, goroutine int) (Served, error) {
	name, guard := p.spec.Name, shared.GuardAt(p.words.Word(0))
	if p.spec.OwnLocks {
		number := p.spec.Process*p.spec.Goroutines + goroutine
		name = fmt.Sprintf("%s:%d", name, number)
		guard = shared.GuardAt(p.words.Word(number))
	}
	lock := p.client.Lock(name)
	rec := newRecorder()
	for {
		asked := clock.Now()
		if asked >= p.win.End {
			return rec.served(), nil
		}
		got, over, err := p.acquire(ctx, lock)
		switch {
		case err != nil:
			return rec.served(), fmt.Errorf("%s: lock: %w", p.spec.Peer, err)
		case got >= p.win.End:
			rec.add(p.win.End.Sub(asked))
			if over {
				return rec.served(), nil
			}
		default:
			if got >= p.win.Start {
				rec.acquired++
				rec.add(got.Sub(asked))
			}
			p.hold(guard)
		}
		if err := release(lock); err != nil {
			return rec.served(), fmt.Errorf("%s: unlock: %w", p.spec.Peer, err)
		}
	}
}

// hold is the work that the lock protects.
func (p *process) hold(guard shared.Guard) {
	alone := guard.Enter()
	if p.spec.Hold > 0 {
		time.Sleep(p.spec.Hold)
	}
	if alone = guard.Leave() && alone; !alone && !p.spec.Unchecked {
		p.violations.Add(1)
	}
}
