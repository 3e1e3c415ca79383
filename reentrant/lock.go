package reentrant

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/internal/multi"
	"github.com/redlatch/redlatch/lua"
)

// Lock is a reentrant lock kept in Redis. See the package comment for who its
// owner is and what a lease promises. It is safe for use by many goroutines and
// holds no state of its own.
//
// The methods of a Lock return [ErrInvalidName], [ErrInvalidOwner] and
// [ErrInvalidLease] without sending anything, [ErrForeignKey] if the key holds
// something that is not a lock, and [ErrClosed] once the [Client] is closed. Where a method takes
// the lock the last two are [ErrNotAcquired] as well.
type Lock struct {
	c       *Client
	name    string
	keys    lua.Keys
	fencing bool
	with    multi.Terms // what With says
	err     error       // of the name, or of an option of With
}

// Name returns the name, without the Client's prefix.
func (l *Lock) Name() string { return l.name }

// Lock takes the lock, waiting until it is free, and keeps it by renewing its
// lease until it is released, lost, or its age reaches [WithMaxHold].
//
// The wait ends when the lock is acquired, when ctx ends, when the Client closes, or
// when Redis cannot be reached. If Redis has never answered this call, that is after four
// attempts or more in 2 s, which the library repeats itself: 2 to 3 s when connections are refused,
// up to 20 s when Redis is silent (four times go-redis' ReadTimeout, by default 5 s; fewer with a short
// lease, as below). If it has answered, or another owner of this Client held the lock, it is with the first attempt that
// fails more than one lease, but at least 2 s, after the first one that failed. All calls of a Client that wait
// for the lock through the same outage end together.
//
// Any error is [ErrNotAcquired] and its cause, but for invalid arguments and [ErrLost]. If another owner
// has the lock, or is ahead, when the wait ends at ctx's deadline, it is [ErrBusy] too. Nothing
// of this call is then left locked: what Redis may have granted is given back in the background,
// within one lease. An outer hold stays.
//
// When the Client closes, the call ends at once with [ErrClosed]. If ctx never ends, as
// [context.Background], it ends when the command under way does, at most ReadTimeout later.
//
// An owner that holds the lock enters it again, and wants one [Lock.Unlock] for each Lock. If
// the lock is found lost meanwhile, also because the outer lease ended before the answer
// came, the error is [ErrLost]. So it is from then on until the owner has unlocked as often as it had
// locked, but for holds with a fixed lease that has run out: those need no Unlock.
func (l *Lock) Lock(ctx context.Context) error {
	r := l.request()
	_, err := l.acquire(ctx, &r)
	return err
}

// LockLease is Lock with a fixed lease, 1 ms to 100 years, otherwise [ErrInvalidLease]: it
// is never renewed, and the hold is lost when it ends. Nested in a hold that is renewed it
// does not end the renewal, and it never shortens the time that is left.
func (l *Lock) LockLease(ctx context.Context, lease time.Duration) error {
	if err := checkLease(lease); err != nil {
		return err
	}
	r := l.request()
	r.terms.Lease = lease
	_, err := l.acquire(ctx, &r)
	return err
}

// TryLock is Lock with a limit on the wait. With lease 0 the hold is renewed, or is as [Lock.With]
// says; otherwise it has that fixed lease, 1 ms to 100 years.
//
// A wait above 0 is a limit that holds also while Redis is silent. With wait 0 or less there is
// one command, which is not repeated, and 500 ms for its answer; the timeout of [WithReplicaAcks] is
// added. Without an answer by then the error has the reason: that of dialing, such as "connection
// refused", if no connection can be made, otherwise that Redis has not answered. Refused connections
// take 0.4 s, since go-redis dials five times by default (DialerRetries).
//
// It returns true and nil when the lock was acquired. It returns false and nil when somebody
// else held it at the end of the wait, as Redis has told; with wait 0 also when another call of
// this Client was already asking Redis for it, or when the owner's own release of it, which
// returned without a confirmation, was still under way. When that is not known it returns false and an
// error that is [ErrNotAcquired]: Redis has not answered, or at the limit has for more than 1 s refused
// this Client's commands for the lock or left them unanswered. So it does when ctx ended before the
// wait; the error is [ErrBusy] too if it was ctx's deadline, and the answer would have been false and nil at
// a limit of the wait there. For the other errors see [Lock.Lock].
func (l *Lock) TryLock(ctx context.Context, wait, lease time.Duration) (bool, error) {
	r := l.request()
	r.terms.Limited, r.terms.Wait = true, wait
	if lease != 0 {
		if err := checkLease(lease); err != nil {
			return false, err
		}
		r.terms.Lease = lease
	}
	_, err := l.acquire(ctx, &r)
	var e *NotAcquiredError
	if errors.As(err, &e) && e.Busy && e.Err == nil {
		return false, nil
	}
	return err == nil, err
}

// Unlock releases the owner's last hold that was made by Lock, LockLease or TryLock, and never one
// of Acquire or Do. When that was its only hold, renewal ends before anything is sent and the lock
// goes to the next waiter. What becomes of that one Unlock does not wait for.
//
// It waits for Redis' confirmation until the deadline of ctx, or for 5 s if ctx has none or that has
// passed; less if its own retries end, of which none begins later than 2 s after the first try. With a
// ctx that never ends only they end the wait, each try after go-redis' ReadTimeout. A cancellation of ctx does not end the wait, neither before the call nor during it: the ctx of a request
// that is over, of a program that has got SIGTERM, of the hold itself will do.
//
//   - [ErrNotHeld]: the owner does not hold the lock, and nothing was changed.
//   - [ErrLost]: the owner has lost it, and nothing of anybody else's was freed. A Client
//     remembers the last 1024 owners that have lost a lock, and as many more as it held locks when most were
//     lost; older ones get ErrNotHeld.
//     [Hold.Release] always knows.
//   - [ErrUnconfirmed]: there was no confirmation. The release goes on in the background. After the release of an inner hold the outer one goes
//     on, and only the hold count in Redis may be too high.
//   - [ErrClosed]: the Client is closed, and the lock expires in Redis.
//
// With [WriteBehind] a release that hands the lock to a waiter of this Client asks nobody: it
// returns nil also if Redis had forgotten the lock by then.
func (l *Lock) Unlock(ctx context.Context) error {
	id, err := l.identifyToLeave(ctx)
	if err != nil {
		return err
	}
	if l.c.closed.Load() {
		return ErrClosed
	}
	s := l.c.findState(l)
	if s == nil {
		if id.lost != nil {
			return id.lost
		}
		return &NotHeldError{Name: l.name, Owner: id.owner}
	}
	defer s.dropUser()
	return s.unlock(ctx, id, nil, 0)
}
