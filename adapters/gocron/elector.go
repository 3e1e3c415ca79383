package redlatchgocron

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/redlatch/redlatch/reentrant"
	"github.com/redlatch/redlatch/watchdog"
)

// ErrClosed: the Elector was closed, and leads no more.
var ErrClosed = errors.New("redlatch: elector closed")

var _ gocron.Elector = (*Elector)(nil)

// Elector is gocron's Elector on a lock, for gocron.WithDistributedElector. The scheduler that has the lock is the leader.
// It stays the leader until Close, or until the lock is lost. It is safe for use by many goroutines.
type Elector struct {
	lock    *reentrant.Lock
	minHold time.Duration

	mu     sync.Mutex // held during an election: 500 ms at most
	hold   *reentrant.Hold
	tick   time.Time // the last one at which this scheduler was the leader
	closed bool
}

// NewElector returns an Elector of the schedulers that use the lock of that name. Nothing is sent before the first tick.
//
// When a leader closes, the others can lead minHold after its last tick, and not before: otherwise a scheduler whose clock
// is late would run the jobs of that tick again. Choose it as for NewLocker. A leader that dies is followed at the first
// tick after its lease (reentrant.WithLease).
func NewElector(client *reentrant.Client, name string, minHold time.Duration) *Elector {
	return &Elector{lock: client.NewLock(name), minHold: minHold}
}

// IsLeader returns nil if this scheduler is the leader, or becomes it now. Otherwise no job runs at this tick. The error is
// reentrant.ErrBusy if another one leads, and ErrClosed after Close. Any other error says that Redis could not be asked.
// gocron drops the error. While the lock is held nothing is sent; an election is one command, and takes 500 ms at most.
//
// It does not keep the runs of one job apart on this machine: gocron.WithSingletonMode does. And it does not promise that
// a job that runs stops when its scheduler leads no more: see Context.
func (e *Elector) IsLeader(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed:
		return fmt.Errorf("%w: %q", ErrClosed, e.lock.Name())
	case e.leads():
		e.tick = time.Now()
		return nil
	case e.hold != nil:
		// Lost. Nothing is sent; the Client forgets the loss.
		e.hold.Release(ctx)
		e.hold = nil
	}
	tick := time.Now()
	// Not by the ctx of a job, with which the hold's would end.
	hold, err := e.lock.Acquire(reentrant.WithNewOwner(context.WithoutCancel(ctx)), reentrant.WithWait(0))
	if err != nil {
		return err
	}
	e.hold, e.tick = hold, tick
	return nil
}

// leads says whether the lock is held. A process that stood still may not have been told of a loss yet, but its validity
// is over.
func (e *Elector) leads() bool {
	return e.hold != nil && e.hold.Context().Err() == nil && !watchdog.Passed(e.hold.ValidUntil())
}

// Context returns a ctx that ends when this scheduler leads no more, for jobs that must stop then: with the cause
// reentrant.ErrLost, or ErrReleased after Close. If it does not lead the ctx has ended, with the cause
// reentrant.ErrNotHeld.
func (e *Elector) Context() context.Context {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.hold != nil {
		return e.hold.Context()
	}
	ctx, end := context.WithCancelCause(context.Background()) // ended at once, so nothing can be left running
	end(fmt.Errorf("%w: %q", reentrant.ErrNotHeld, e.lock.Name()))
	return ctx
}

// Close gives up the lead, for good, and keeps the lock for what is left of the minimum hold. Call it after the
// scheduler's Shutdown, when no job runs any more. The error is that of reentrant.Hold.ReleaseAfter; nil if this scheduler
// did not lead. A second call does nothing.
func (e *Elector) Close(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	hold := e.hold
	e.hold = nil
	if hold == nil {
		return nil
	}
	return release(ctx, hold, e.minHold-time.Since(e.tick))
}
