package redlatchgocron

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/redlatch/redlatch/reentrant"
)

// Prefix is what the name of a job's lock begins with; the name of the job follows, which is gocron's.
const Prefix = "gocron:"

var _ gocron.Locker = (*Locker)(nil)

// Locker is gocron's Locker on a Client, for gocron.WithDistributedLocker and WithDistributedJobLocker. It is safe for use
// by many goroutines.
type Locker struct {
	client  *reentrant.Client
	minHold time.Duration
	opts    []reentrant.LockOption

	mu    sync.Mutex
	holds map[string]*reentrant.Hold // of the runs of this scheduler, by job
}

// NewLocker returns a Locker. A run of a job keeps its lock until the run ends, and for minHold from the tick at least,
// also after the scheduler has ended. Choose minHold greater than the difference between the clocks of the machines, and
// less than the time from one tick to the next. Jobs that need different ones have a Locker each. 0 is none.
//
// The lock of a job is that of client named Prefix and the job's name, with the options. All machines have to give a job
// the same name: without gocron.WithName it is that of its function.
func NewLocker(client *reentrant.Client, minHold time.Duration, opts ...reentrant.LockOption) *Locker {
	return &Locker{client: client, minHold: minHold, opts: opts, holds: make(map[string]*reentrant.Hold)}
}

// Lock takes the lock of a job for one run. It does not wait: it sends one command, and returns within 500 ms.
//
// The error goes to gocron's AfterLockError, and the run is left out. It is reentrant.ErrBusy if another run has the
// lock, or had it less than the minimum hold ago; most ticks end so on all machines but one. Any other error says that
// Redis could not be asked, that the name of the job is no name of a lock, or that the Client is closed.
func (l *Locker) Lock(ctx context.Context, job string) (gocron.Lock, error) {
	tick := time.Now()
	// Each run is an owner of its own. gocron runs jobs that have a limit on one goroutine after another, which would
	// be let in again while Redis has not confirmed its last release.
	hold, err := l.client.NewLock(Prefix+job, l.opts...).Acquire(reentrant.WithNewOwner(ctx), reentrant.WithWait(0))
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holds[job] = hold
	return &run{locker: l, job: job, tick: tick, hold: hold}, nil
}

// Context returns the ctx of the run of a job that this scheduler has under way, for the job itself: gocron gives all runs
// the same. It ends with the ctx of gocron, and with the cause reentrant.ErrLost when the lock is lost. If there is no
// such run it has ended, with the cause reentrant.ErrNotHeld.
func (l *Locker) Context(job string) context.Context {
	l.mu.Lock()
	hold := l.holds[job]
	l.mu.Unlock()
	if hold != nil {
		return hold.Context()
	}
	ctx, end := context.WithCancelCause(context.Background()) // ended at once, so nothing can be left running
	end(fmt.Errorf("%w: no run of job %q", reentrant.ErrNotHeld, job))
	return ctx
}

// run is the lock of one run.
type run struct {
	locker *Locker
	job    string
	tick   time.Time
	hold   *reentrant.Hold
}

// Unlock ends the run. ctx is the job's, which has ended if the scheduler shuts down: a release does not mind. gocron
// drops the error. The Client logs a loss and a release without confirmation (reentrant.WithLogger, WithEvents).
func (r *run) Unlock(ctx context.Context) error {
	r.locker.forget(r.job, r.hold)
	return release(ctx, r.hold, r.locker.minHold-time.Since(r.tick))
}

// forget leaves the next run alone, which has the lock already if this one has lost it.
func (l *Locker) forget(job string, hold *reentrant.Hold) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holds[job] == hold {
		delete(l.holds, job)
	}
}

// release keeps the lock for what is left of the minimum hold. If the job has left a nested hold behind, the lock is
// released with that one.
func release(ctx context.Context, hold *reentrant.Hold, left time.Duration) error {
	err := hold.ReleaseAfter(ctx, left)
	if errors.Is(err, reentrant.ErrNested) {
		return hold.Release(ctx)
	}
	return err
}
