package redlatchcron

import (
	"context"
	"errors"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/redlatch/redlatch/reentrant"
)

// ContextJob is a cron.Job that takes a ctx, for Exclusive. cron's own jobs have none.
type ContextJob interface {
	cron.Job
	RunContext(ctx context.Context)
}

// JobFunc is a function as a ContextJob.
type JobFunc func(ctx context.Context)

var _ ContextJob = JobFunc(nil)

// RunContext calls f.
func (f JobFunc) RunContext(ctx context.Context) { f(ctx) }

// Run calls f with a ctx that never ends. It is for a job that no Exclusive wraps.
func (f JobFunc) Run() { f(context.Background()) }

// Exclusive returns a JobWrapper that runs a job under the lock, and leaves a run out if another run has the lock, on any
// machine. It does not wait. A wrapper knows no job, so each job needs a lock and a chain of its own:
//
//	cron.NewChain(redlatchcron.Exclusive(ctx, lock, minHold, logger)).Then(job)
//
// A run keeps the lock until it ends, and for minHold from the tick at least, also after the scheduler has ended. Choose
// minHold greater than the difference between the clocks of the machines, and less than the time from one tick to the
// next. 0 is none.
//
// A job that is a ContextJob gets a ctx that ends with the given one, and with the cause reentrant.ErrLost when the lock is
// lost. Exclusive has to come last in the chain for that: other wrappers hide what the job is. When ctx ends no run begins
// any more. A run that panics releases the lock, and the panic goes on.
//
// The logger gets, as an Info, that another run has the lock, which most ticks end with on all machines but one. It gets
// as an Error why Redis could not be asked, that the lock was lost, and that its release was not confirmed.
func Exclusive(ctx context.Context, lock *reentrant.Lock, minHold time.Duration, logger cron.Logger) cron.JobWrapper {
	return func(job cron.Job) cron.Job {
		return &exclusive{ctx: ctx, lock: lock, minHold: minHold, logger: logger, job: job}
	}
}

// exclusive is a job under a lock.
type exclusive struct {
	ctx     context.Context
	lock    *reentrant.Lock
	minHold time.Duration
	logger  cron.Logger
	job     cron.Job
}

// Run runs the job once, or leaves the run out.
func (e *exclusive) Run() {
	tick := time.Now()
	// Each run is an owner of its own, so runs of this machine, too, keep each other out.
	hold, err := e.lock.Acquire(reentrant.WithNewOwner(e.ctx), reentrant.WithWait(0))
	switch {
	case errors.Is(err, reentrant.ErrBusy):
		e.logger.Info("skip", "lock", e.lock.Name(), "reason", err)
		return
	case err != nil:
		e.logger.Error(err, "skip", "lock", e.lock.Name())
		return
	}
	// Deferred, so that a panic releases too.
	defer func() { e.release(hold, e.minHold-time.Since(tick)) }()
	if job, ok := e.job.(ContextJob); ok {
		job.RunContext(hold.Context())
	} else {
		e.job.Run()
	}
}

// release keeps the lock for what is left of the minimum hold. If the job has left a nested hold behind, the lock is
// released with that one. e.ctx may have ended: a release does not mind.
func (e *exclusive) release(hold *reentrant.Hold, left time.Duration) {
	err := hold.ReleaseAfter(e.ctx, left)
	if errors.Is(err, reentrant.ErrNested) {
		err = hold.Release(e.ctx)
	}
	if err != nil {
		e.logger.Error(err, "release", "lock", e.lock.Name())
	}
}
