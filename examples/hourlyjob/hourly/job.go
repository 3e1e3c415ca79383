// Package hourly runs the job of the hour on one of many nodes. It needs no scheduler:
// whatever ticks, on every node, calls [Job.Run] with the hour.
//
// Running twice is better than not at all. So a node that finds another one at work
// stands by; it takes over when that one fails, and when it dies, at most one lease later.
// An hour that is done is marked for two hours, so that a node that comes late finds it
// done. The attempts of all nodes are counted in Redis, and there is a limit to them, so
// that an hour that kills its node does not kill one after the other for ever.
//
// What it does not promise: that the work runs once. It runs twice when a node has done
// it and dies before it can say so, when Redis forgets what it was told, or when a node
// stops for longer than the lease and does not know yet. Work must bear that: write under
// the hour's name, not under "now". And it does not run at all while Redis is down, unless
// the caller decides so when Run returns [Unavailable].
//
// In Redis, all in one slot of a Cluster, NAME being the job's:
//
//	hourly:{NAME}:lock                    the lock, one for all hours: runs do not overlap
//	hourly:{NAME}:2006-01-02T15:done      the attempt that did the hour (UTC), for two hours
//	hourly:{NAME}:2006-01-02T15:attempts  hash: attempt -> when it began, as long
package hourly

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/reentrant"
)

const (
	// Kept is how long Redis remembers an hour: longer than it lasts, so that a node whose
	// clock or scheduler is late does not do it again.
	Kept = 2 * time.Hour
	// Attempts is the default limit of an hour.
	Attempts = 3
)

// Job is a job that is to run once an hour on one of the nodes. All nodes must agree on
// Name, and on Attempts.
type Job struct {
	// Name is the job's. It has no braces.
	Name string

	// Work does the work of one hour. Its ctx ends when the lock is lost, with the cause
	// reentrant.ErrLost, or when that of Run does. nil says that the hour is done.
	Work func(ctx context.Context, a Attempt) error

	// Locks makes the lock. Its lease (reentrant.WithLease) is how long the others wait
	// for a node that has died: some seconds, whatever the work takes, since it is
	// renewed while the work goes on.
	Locks *reentrant.Client

	// Redis keeps what was done, on the same servers as the lock.
	Redis redis.UniversalClient

	// Attempts is how often all nodes together may try to do an hour; 0 is 3.
	Attempts int

	// StandBy is how long to wait while another node is at work: 0 until ctx ends, less
	// than 0 not at all.
	StandBy time.Duration
}

// Attempt is one run of the work.
type Attempt struct {
	Hour   time.Time // UTC
	Number int       // from 1, of all nodes
	ID     string    // unique; the owner of the lock is named so
}

// Of returns the hour that a scheduler's tick at t is meant for. Clocks differ: a tick up
// to 30 s before the full hour belongs to the hour that is about to begin.
func Of(t time.Time) time.Time {
	return t.Add(30 * time.Second).UTC().Truncate(time.Hour)
}

// Run does the work of the hour that t is in, unless another node does or has done it.
// It returns what came of it: at once if the hour is done or the attempts are used up, and
// otherwise after the work, or when another node has done it, or when StandBy or ctx ends.
// While Redis cannot be reached it goes on trying until ctx ends, which should therefore
// have a deadline, some minutes before the next hour.
//
// Each call of Run is a participant of its own, whatever owner ctx carries. If Work panics
// the lock is freed and the panic goes on.
func (j *Job) Run(ctx context.Context, t time.Time) (Outcome, error) {
	if j.Name == "" || strings.ContainsAny(j.Name, "{}") {
		return Unavailable, fmt.Errorf("hourly: job %q: %w", j.Name, reentrant.ErrInvalidName)
	}
	a := Attempt{Hour: t.UTC().Truncate(time.Hour), ID: uuid.NewString()}
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		outcome, err := j.try(reentrant.WithOwner(ctx, a.ID), a)
		if outcome != Unavailable || !worthAnother(err) {
			return outcome, err
		}
		if sleep(ctx, pause) != nil {
			return outcome, err
		}
	}
}

// Pauses between attempts to reach Redis.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
)

// worthAnother reports whether Redis, which could not say, may be able to later.
func worthAnother(err error) bool {
	for _, never := range []error{
		reentrant.ErrClosed, reentrant.ErrForeignKey, reentrant.ErrInvalidName, reentrant.ErrInvalidOwner,
	} {
		if errors.Is(err, never) {
			return false
		}
	}
	return true
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
