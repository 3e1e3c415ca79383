package redisio

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxIdle is how many goroutines of Workers are kept for the next command.
	maxIdle = 16
	// idleFor is how long.
	idleFor = time.Second
)

// Workers runs what must go on when its caller leaves, on goroutines that are kept for the next
// time: a new one begins with a small stack, and growing it through go-redis' calls costs more than all
// else that a command costs here.
type Workers struct {
	ctx  context.Context // ends those that are kept
	work chan func()     // to one that waits
	idle atomic.Int32    // how many wait, or are about to
	gone sync.WaitGroup  // all of them
}

// NewWorkers makes Workers that keep no goroutine once ctx has ended.
func NewWorkers(ctx context.Context) *Workers {
	return &Workers{ctx: ctx, work: make(chan func())}
}

// Run runs f on a goroutine that waits, or on a new one.
func (w *Workers) Run(f func()) {
	select {
	case w.work <- f:
	default:
		w.gone.Go(func() { w.serve(f) }) // ends when it has waited too long, or with ctx
	}
}

// Go runs f on a goroutine of its own, which ends with f.
func (w *Workers) Go(f func()) { w.gone.Go(f) }

// Wait waits for the goroutines of Run and Go.
func (w *Workers) Wait() { w.gone.Wait() }

func (w *Workers) serve(f func()) {
	timer := time.NewTimer(idleFor)
	defer timer.Stop()
	for f != nil {
		f()
		timer.Reset(idleFor)
		f = w.wait(timer.C)
	}
}

// wait returns what to run next, or nil if there is nothing.
func (w *Workers) wait(enough <-chan time.Time) func() {
	defer w.idle.Add(-1)
	if w.idle.Add(1) > maxIdle {
		return nil
	}
	select {
	case f := <-w.work:
		return f
	case <-enough:
	case <-w.ctx.Done():
	}
	return nil
}
