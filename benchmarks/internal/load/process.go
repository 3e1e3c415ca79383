//go:build unix

package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/clock"
	"github.com/redlatch/redlatch/benchmarks/internal/peer"
	"github.com/redlatch/redlatch/benchmarks/internal/shared"
)

// process is one process at work.
type process struct {
	spec   Spec
	client peer.Client
	own    []peer.Client // of the goroutines but the first, if each has one
	others peer.Client   // of the traffic; nil without it
	words  *shared.Words
	win    Window

	violations atomic.Int64
}

// open connects, and sends something with every connection's cost to it, so that
// the first moment of the warm-up is not a storm of dials.
func open(spec Spec) (*process, error) {
	p, ok := peer.Find(spec.Peer)
	if !ok || p.Open == nil {
		return nil, fmt.Errorf("no Go library %q", spec.Peer)
	}
	words, err := shared.Map(spec.Words)
	if err != nil {
		return nil, err
	}
	client, err := p.Open(spec.Addr)
	if err != nil {
		return nil, err
	}
	if err := takeFirst(spec, client); err != nil {
		return nil, fmt.Errorf("first lock: %w", err)
	}
	opened := &process{spec: spec, client: client, words: words}
	for range spec.Goroutines - 1 {
		if !spec.OwnClients {
			break
		}
		another, err := p.Open(spec.Addr)
		if err == nil {
			err = takeFirst(spec, another)
		}
		if err != nil {
			return nil, err
		}
		opened.own = append(opened.own, another)
	}
	if spec.Traffic > 0 {
		opened.others, err = peer.OpenPlain(spec.Addr)
	}
	return opened, err
}

const (
	firstTries  = 6
	firstWithin = 10 * time.Second
)

// takeFirst takes a lock that nobody else wants, under another name if that does not
// come soon: on a busy machine rueidislock has been seen to wait a minute for one.
func takeFirst(spec Spec, client peer.Client) error {
	for try := 1; ; try++ {
		ctx, cancel := context.WithTimeout(context.Background(), firstWithin)
		first := client.Lock(fmt.Sprintf("%s:first:%d:%d", spec.Name, spec.Process, try))
		err := first.Acquire(ctx)
		if err == nil {
			err = first.Release(ctx)
		}
		cancel()
		if err == nil || try == firstTries {
			return err
		}
	}
}

// worker is one goroutine at work.
type worker func(ctx context.Context, goroutine int) (Served, error)

// run has all goroutines work until the window ends. Those that wait then are called
// back by ctx, which has no deadline: some libraries shorten a lease to fit it.
func (p *process) run(win Window) (Recording, error) {
	p.win = win
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer time.AfterFunc(win.End.Until(), cancel).Stop()

	var rec Recording
	var work worker
	switch p.spec.Kind {
	case Turns:
		work = p.turns
	case PingPong:
		work = func(ctx context.Context, _ int) (served Served, err error) {
			served, rec.Handoffs, err = p.pingPong(ctx)
			return served, err
		}
	default:
		return rec, fmt.Errorf("no work of kind %q", p.spec.Kind)
	}

	rec.Goroutines = make([]Served, p.spec.Goroutines)
	errs := make([]error, p.spec.Goroutines+1)
	var wg sync.WaitGroup
	wg.Go(func() { rec.Objects = objects(win) })
	if p.spec.Traffic > 0 {
		wg.Go(func() { errs[p.spec.Goroutines] = p.traffic(ctx) })
	}
	for i := range p.spec.Goroutines {
		wg.Go(func() { rec.Goroutines[i], errs[i] = work(ctx, i) })
	}
	wg.Wait()
	rec.Violations = int(p.violations.Swap(0))
	return rec, errors.Join(errs...)
}

// acquire returns when the lock was granted; over is true when the window ended
// first, which is no error.
func (p *process) acquire(ctx context.Context, l peer.Lock) (got clock.Instant, over bool, err error) {
	err = l.Acquire(ctx)
	got = clock.Now()
	if err != nil && ctx.Err() != nil {
		return got, true, nil
	}
	return got, false, err
}

// release gives the lock back, also when the window has ended. go-redis' timeouts
// bound it.
func release(l peer.Lock) error { return l.Release(context.Background()) }
