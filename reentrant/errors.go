package reentrant

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redlatch/redlatch/internal/errs"
)

// What can go wrong, for errors.Is. Where a struct is named beside, errors.As gives the details.
var (
	// ErrNotHeld: the owner does not hold the lock. [NotHeldError]
	ErrNotHeld = errors.New("redlatch: lock not held by this owner")

	// ErrLost: the owner held the lock and has lost it: the lease ended before a renewal was confirmed,
	// or Redis no longer knows the hold. From a nested call it is not ErrNotAcquired. The owner's calls
	// get it until the owner has unlocked as often as it had locked. [LostError]
	ErrLost = errors.New("redlatch: lock lost")

	// ErrNotAcquired: the lock was not acquired. By now nothing of this call is held, or the Client is
	// giving it back. An outer hold of the owner stays. [NotAcquiredError]
	ErrNotAcquired = errors.New("redlatch: lock not acquired")

	// ErrBusy: the lock was not acquired because another owner has it, or another call is ahead, as Redis
	// or this Client said last. The error is ErrNotAcquired too. An outage, a cancellation and a closed
	// Client are other reasons for ErrNotAcquired. [NotAcquiredError]
	ErrBusy = errors.New("redlatch: lock is busy")

	// ErrUnconfirmed: the hold is over for the caller, but Redis has not confirmed that: no reply came,
	// or not in time, or Redis refused. If it was the owner's last hold, the Client renews the lock no
	// longer, and the lock may not be free yet. After the release of an inner hold the outer one goes on,
	// and only the hold count in Redis may be too high. The Client goes on in the background until Redis
	// has confirmed the release or the lease has passed. [UnconfirmedError]
	ErrUnconfirmed = errors.New("redlatch: release not confirmed")

	// ErrReplicas: fewer replicas than [WithReplicaAcks] asks for confirmed the lock in time; the Client
	// has given it back. [ReplicasError]
	ErrReplicas = errors.New("redlatch: too few replicas confirmed")

	// ErrForeignKey: the key holds something that is not a lock. The Client leaves it alone.
	// [ForeignKeyError]
	ErrForeignKey = errors.New("redlatch: key is not a lock")

	// ErrClosed: the Client is closed or closing. From a method that takes the lock the error is
	// ErrNotAcquired as well.
	ErrClosed = errors.New("redlatch: client closed")

	// ErrReleased is the cause with which the ctx of a [Hold] ends when the hold is released.
	ErrReleased = errors.New("redlatch: hold released")

	// ErrInvalidName, ErrInvalidLease, ErrInvalidOwner and ErrInvalidOption: the argument was refused and
	// nothing was sent.
	ErrInvalidName   = errors.New("redlatch: invalid name")
	ErrInvalidLease  = errors.New("redlatch: invalid lease")
	ErrInvalidOwner  = errors.New("redlatch: invalid owner")
	ErrInvalidOption = errors.New("redlatch: invalid option")
)

var (
	errNoAnswer = errors.New("no answer from Redis")
	errTooLate  = errors.New("the lease ended before Redis' answer arrived")
	errStale    = errors.New("a later command came first")
)

// NotAcquiredError tells what stood in the way. It is [ErrNotAcquired], and also whatever Err is.
type NotAcquiredError struct {
	Name string

	// Holder is the holder's owner field, as Redis last named it or as this Client's own wait queue has
	// it; empty if neither did. TTL is the time that was left to the holder when Redis named it. It is 0
	// if the wait queue named it, and negative if the key has no TTL.
	Holder string
	TTL    time.Duration

	// HolderName is the name that the holder's Client gives itself ([WithClientName]), if this Client
	// knows it already. It knows its own name, and the name of a Client that a [Lock.Info] was about.
	// It asks nobody for it.
	HolderName string

	Waited time.Duration // length of the call

	// Busy says that another owner has the lock or is ahead, by the last word of Redis or of this Client.
	// The wait has ended at its limit or at the deadline of ctx. It is false after a cancellation of ctx,
	// when Redis does not answer or refuses, and when the Client closes. The error is [ErrBusy] if Busy
	// is set.
	Busy bool

	// Err is why the wait ended: ctx's error and cause, ErrClosed, an error of Redis. It is
	// nil if the lock was busy until the limit of the wait.
	Err error

	// Ancestor says that the call waited for its own caller, and why; empty otherwise.
	Ancestor Ancestor

	client string // ID of the Client: it tells the Client's own owners
}

func (e *NotAcquiredError) Error() string {
	s := fmt.Sprintf("redlatch: lock %q not acquired after %v", e.Name, e.Waited.Round(time.Millisecond))
	switch {
	case e.Busy:
		s = e.busy()
	case e.Holder != "":
		s += fmt.Sprintf(", held by %s", e.holder())
	}
	if e.Ancestor != "" {
		s += fmt.Sprintf(", its own caller: %s", e.Ancestor)
	}
	if e.Err != nil {
		s += ": " + strings.TrimPrefix(e.Err.Error(), fmt.Sprintf("redlatch: lock %q: ", e.Name))
	}
	return s
}

// Is makes it [ErrNotAcquired], and [ErrBusy] if Busy is set.
func (e *NotAcquiredError) Is(target error) bool {
	return target == ErrNotAcquired || target == ErrBusy && e.Busy
}

// Unwrap gives the reason. If the reason tells of another busy lock, it is not [ErrBusy] here.
func (e *NotAcquiredError) Unwrap() error { return errs.Without(e.Err, ErrBusy) }

// LostError is [ErrLost] with what the Client knows of the loss.
type LostError struct {
	Name   string
	Owner  string
	Held   time.Duration // from the grant to the loss
	Reason LossReason
}

func (e *LostError) Error() string {
	return fmt.Sprintf("redlatch: lock %q lost by %s after %v: %s", e.Name, e.Owner, e.Held.Round(time.Millisecond), e.Reason)
}

// Is makes it [ErrLost].
func (e *LostError) Is(target error) bool { return target == ErrLost }

// LossReason says how a hold was lost.
type LossReason string

const (
	// LeaseEnded: no renewal was confirmed in time, or the lease was a fixed one, or [WithMaxHold] ended
	// the renewal.
	LeaseEnded LossReason = "the lease ended"
	// Overridden: Redis answered that the owner does not hold the lock: it was forced, deleted, evicted,
	// or forgotten in a failover or restart.
	Overridden LossReason = "Redis no longer knows the hold"
)

// UnconfirmedError is [ErrUnconfirmed] with what the Client knows, and also whatever Err is.
type UnconfirmedError struct {
	Name  string
	Owner string

	// FreeAfter is how long after the call the lock has expired in Redis, if nothing else frees it
	// before. It is 0 after the release of an inner hold, which frees nothing.
	FreeAfter time.Duration

	Err error // why there is no confirmation
}

func (e *UnconfirmedError) Error() string {
	s := fmt.Sprintf("redlatch: release of lock %q not confirmed", e.Name)
	if e.FreeAfter > 0 {
		s += fmt.Sprintf(", free in %v at the latest", e.FreeAfter.Round(time.Millisecond))
	}
	return s + ": " + e.Err.Error()
}

// Is makes it [ErrUnconfirmed].
func (e *UnconfirmedError) Is(target error) bool { return target == ErrUnconfirmed }

// Unwrap gives the reason.
func (e *UnconfirmedError) Unwrap() error { return e.Err }

// ReplicasError is [ErrReplicas] with the figures.
type ReplicasError struct {
	Name      string
	Want, Got int
}

func (e *ReplicasError) Error() string {
	return fmt.Sprintf("redlatch: lock %q: %d of %d replicas confirmed", e.Name, e.Got, e.Want)
}

// Is makes it [ErrReplicas].
func (e *ReplicasError) Is(target error) bool { return target == ErrReplicas }

// named adds the lock's name to an error of Redis, or of the way to it.
func named(name string, err error) error {
	return fmt.Errorf("redlatch: lock %q: %w", name, err)
}

// whyEnded says why ctx has ended: its cause, and context.Canceled or DeadlineExceeded in any case.
func whyEnded(ctx context.Context) error {
	cause := context.Cause(ctx)
	if end, is := cause.(deadlineEnd); is {
		return end.error
	}
	if errors.Is(cause, ctx.Err()) {
		return cause
	}
	return fmt.Errorf("%w: %w", ctx.Err(), cause)
}
