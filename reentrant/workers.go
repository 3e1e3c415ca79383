package reentrant

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxIdle is how many goroutines of workers are kept for the next command.
	maxIdle = 16
	// idleFor is how long.
	idleFor = time.Second
)

// workers runs what must go on when its caller leaves, on goroutines that are kept for the next
// time: a new one begins with a small stack, and growing it through go-redis' calls costs more than all
// else that a command costs here.
type workers struct {
	ctx  context.Context // ends those that are kept
	work chan func()     // to one that waits
	idle atomic.Int32    // how many wait, or are about to
	gone sync.WaitGroup  // all of them
}

// run runs f on a goroutine that waits, or on a new one.
func (w *workers) run(f func()) {
	select {
	case w.work <- f:
	default:
		w.gone.Go(func() { w.serve(f) }) // ends when it has waited too long, or with ctx
	}
}

func (w *workers) serve(f func()) {
	timer := time.NewTimer(idleFor)
	defer timer.Stop()
	for f != nil {
		f()
		timer.Reset(idleFor)
		f = w.wait(timer.C)
	}
}

// wait returns what to run next, or nil if there is nothing.
func (w *workers) wait(enough <-chan time.Time) func() {
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
