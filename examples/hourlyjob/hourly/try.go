package hourly

import (
	"context"
	"errors"

	"github.com/redlatch/redlatch/reentrant"
)

// try is one go at the hour. With Unavailable nothing was run.
func (j *Job) try(ctx context.Context, a Attempt) (outcome Outcome, err error) {
	// Most nodes come when it is done, and need no lock to see that. Whether the attempts
	// are used up is another matter: the last of them may be at work.
	if s, err := j.state(ctx, a); err != nil || s.outcome == Done {
		return s.outcome, err
	}
	hold, err := j.Locks.NewLock("hourly:{"+j.Name+"}:lock").Acquire(ctx, j.wait()...)
	if err != nil {
		return unlocked(ctx, err)
	}
	// The marker is set by then, so that the next node finds it.
	defer func() { err = errors.Join(err, hold.Release(ctx)) }()

	// Another node may have done it while this one waited.
	s, err := j.state(hold.Context(), a)
	if err != nil || s.over() {
		return s.outcome, err
	}
	if a.Number, err = j.begin(hold.Context(), a); err != nil {
		return Unavailable, err
	}
	if err := j.Work(hold.Context(), a); err != nil {
		return Failed, err
	}
	if err := j.markUntilDone(ctx, a); err != nil {
		return Unmarked, err
	}
	return Ran, nil
}

func (j *Job) wait() []reentrant.AcquireOption {
	if j.StandBy == 0 {
		return nil
	}
	return []reentrant.AcquireOption{reentrant.WithWait(j.StandBy)}
}

// unlocked says what it means that the lock was not acquired.
func unlocked(ctx context.Context, err error) (Outcome, error) {
	switch {
	case !errors.Is(err, reentrant.ErrBusy):
		return Unavailable, err // also if ctx was cancelled: nobody wants to know any more
	case ctx.Err() != nil:
		return Busy, err
	default:
		return Busy, nil
	}
}

// markUntilDone marks the hour as done, once at least, and while Redis cannot be reached
// until ctx ends. It does so even if the lock is lost by then: the work is done, and the
// sooner the others know the better.
func (j *Job) markUntilDone(ctx context.Context, a Attempt) error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := j.mark(context.WithoutCancel(ctx), a)
		if err == nil || sleep(ctx, pause) != nil {
			return err
		}
	}
}
