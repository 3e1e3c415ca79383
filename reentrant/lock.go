package reentrant

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/internal/lockstate"
	"github.com/redlatch/redlatch/internal/multi"
	"github.com/redlatch/redlatch/lua"
)

// Lock is a reentrant lock in Redis. The package comment says who its owner is and what a lease promises.
// A Lock is safe for use by many goroutines and holds no state of its own.
//
// The methods of a Lock return [ErrInvalidName], [ErrInvalidOwner] and [ErrInvalidLease] without sending
// anything. They return [ErrForeignKey] if the key holds something that is not a lock, and [ErrClosed]
// once the [Client] is closed. From a method that takes the lock the last two are [ErrNotAcquired] as
// well.
type Lock struct {
	c       *Client
	kind    *kind
	name    string
	keys    lua.Keys
	mode    lockstate.Mode // Exclusive, unless it is the reading side of a [ReadWriteLock]
	fencing bool

	readersFirst bool        // of a read-write lock
	with         multi.Terms // what With says
	err          error       // of the name, or of an option of With
}

// Name returns the name, without the Client's prefix.
func (l *Lock) Name() string { return l.name }

// Lock takes the lock. It waits until the lock is free. Then the Client renews the lease until the lock
// is released or lost, or its age reaches [WithMaxHold].
//
// The wait ends when the lock is acquired, when ctx ends, when the Client closes, or when Redis cannot be
// reached. The last of these depends on whether Redis has answered:
//
//   - Redis has never answered this call: the wait ends after four attempts or more, in 2 s or more. The
//     library repeats the attempts itself. It takes 2 to 3 s when connections are refused, and up to 20 s
//     when Redis is silent (four times go-redis' ReadTimeout, by default 5 s). With a short lease it
//     takes fewer attempts, by the next rule.
//   - Redis has answered, or another owner of this Client held the lock. The wait ends with the first
//     attempt that fails more than one lease, but at least 2 s, after the first attempt that failed.
//
// All calls of a Client that wait for the lock through the same outage end together.
//
// Any error is [ErrNotAcquired] and its cause, except for invalid arguments and [ErrLost]. If the wait
// ends at ctx's deadline while another owner has the lock, or is ahead, the error is [ErrBusy] too.
// Nothing of this call is then left locked: the Client gives back in the background, within one lease,
// what Redis may have granted. An outer hold stays.
//
// When the Client closes, the call ends at once with [ErrClosed]. If ctx never ends, as
// [context.Background], the call ends when its command under way does, at most ReadTimeout later.
//
// An owner that holds the lock enters it again, and must call [Lock.Unlock] once for each Lock. If the
// call finds the lock lost, the error is [ErrLost]; so it is also if the outer lease ended before the
// answer came. From then on the owner's calls get ErrLost until the owner has unlocked as often as it had
// locked. For holds with a fixed lease that has run out it need not unlock.
func (l *Lock) Lock(ctx context.Context) error {
	r := l.request()
	_, err := l.acquire(ctx, &r)
	return err
}

// LockLease is Lock with a fixed lease, 1 ms to 100 years, otherwise [ErrInvalidLease]. The Client never
// renews that lease, and the hold is lost when it ends. Inside a hold that is renewed, LockLease does not
// end the renewal, and it never shortens the time that is left.
func (l *Lock) LockLease(ctx context.Context, lease time.Duration) error {
	if err := checkLease(lease); err != nil {
		return err
	}
	r := l.request()
	r.terms.Lease = lease
	_, err := l.acquire(ctx, &r)
	return err
}

// TryLock takes the lock if it can within wait. It is [Lock.Lock] with a limit, and answers:
//
//   - true, nil: the caller holds the lock.
//   - false, nil: another owner holds the lock, as Redis has told.
//   - false, error: unknown. Redis did not answer, or ctx ended before the wait did. The error is
//     [ErrNotAcquired].
//
// The wait:
//
//   - Above 0 it is a limit, which holds also while Redis is silent.
//   - 0 or less: the call sends one command, does not repeat it, and waits 500 ms for the answer, plus the
//     timeout of [WithReplicaAcks]. Without an answer the error is the one of dialing, such as "connection
//     refused", or says that Redis has not answered. Refused connections take 0.4 s, since go-redis dials
//     five times by default (DialerRetries).
//
// The lease: 0 is a hold that the Client renews, or as [Lock.With] says. Otherwise the hold has that fixed
// lease, 1 ms to 100 years.
//
// With wait 0 there are two more cases of false and nil. Another call of this Client was already asking
// Redis for the lock, or the owner's own release, which returned without a confirmation, was still under
// way.
//
// It is unknown, and not busy, if Redis has refused this Client's commands for the lock for more than 1 s
// before the limit, or has left them unanswered. If ctx's deadline ends the wait, and a limit at that time
// would have given false and nil, the error is [ErrBusy] too. For the other errors see [Lock.Lock].
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

// Unlock releases the owner's last hold that Lock, LockLease or TryLock made. It never releases one of
// Acquire or Do. If that was the owner's only hold, renewal ends before anything is sent, and the lock
// goes to the next waiter. Unlock does not wait for what becomes of that waiter.
//
// Unlock waits for Redis' confirmation until the deadline of ctx, or for 5 s if ctx has none or that has
// passed. It waits less if its own retries end, of which none begins later than 2 s after the first try.
// With a ctx that never ends only the retries end the wait, each try after go-redis' ReadTimeout. A
// cancellation of ctx does not end the wait, neither before the call nor during it. So Unlock can take
// the ctx of a request that is over, of a program that has got SIGTERM, or of the hold itself.
//
//   - [ErrNotHeld]: the owner does not hold the lock, and nothing was changed.
//   - [ErrLost]: the owner has lost the lock, and nothing of another owner's was freed. A Client
//     remembers the last 1024 owners that have lost a lock, and as many more as it held locks when most
//     were lost; older ones get ErrNotHeld. [Hold.Release] always knows.
//   - [ErrUnconfirmed]: there was no confirmation. The release goes on in the background. After the
//     release of an inner hold the outer one goes on, and only the hold count in Redis may be too high.
//   - [ErrClosed]: the Client is closed, and the lock expires in Redis.
//
// With [WriteBehind] a release that hands the lock to a waiter of this Client sends nothing: it returns
// nil also if Redis had forgotten the lock by then.
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
