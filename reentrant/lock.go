package reentrant

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/lua"
)

// Lock is a reentrant lock kept in Redis. See the package comment for who its
// owner is and what a lease promises. It is safe for use by many goroutines and
// holds no state of its own.
//
// The methods of a Lock return [ErrInvalidName], [ErrInvalidOwner] and
// [ErrInvalidLease] without sending anything, [ErrForeignKey] if the key holds
// something that is not a lock, and [ErrClosed] once the [Client] is closed.
type Lock struct {
	c       *Client
	name    string
	keys    lua.Keys
	fencing bool
	err     error // of the name
}

// Name returns the name, without the Client's prefix.
func (l *Lock) Name() string { return l.name }

// Lock takes the lock, waiting until it is free, and keeps it by renewing its
// lease until it is released, lost, or [WithMaxHold] says enough. The wait ends
// when the lock is acquired, when ctx ends or the Client closes, or when Redis
// cannot be reached: at once if it has not answered this call at all (after
// go-redis' usual three retries), otherwise after one lease without an answer. Any error but an invalid
// argument is [ErrNotAcquired] and its cause; nothing is then left locked.
//
// An owner that holds the lock enters it again: one [Lock.Unlock] for each Lock.
// If that finds the lock lost, the error is [ErrLost].
func (l *Lock) Lock(ctx context.Context) error {
	_, err := l.acquire(ctx, request{lease: l.c.cfg.lease})
	return err
}

// LockLease is Lock with a fixed lease, 1 ms to 100 years: it is never renewed, and
// the hold is lost when it ends. Nested in a hold that is renewed it does not end
// the renewal, and it never shortens the time that is left.
func (l *Lock) LockLease(ctx context.Context, lease time.Duration) error {
	if err := checkLease(lease); err != nil {
		return err
	}
	_, err := l.acquire(ctx, request{lease: lease, fixed: true})
	return err
}

// TryLock is Lock with a limit on the wait, which holds also while Redis is
// silent; wait 0 or less is a single attempt. With lease 0 the hold is renewed,
// otherwise it has that fixed lease. It returns false and no error when the lock
// was busy all the while, or with wait 0 when another call of this Client was already
// waiting for the answer; and false and an error that is [ErrNotAcquired] when
// Redis did not say so much.
func (l *Lock) TryLock(ctx context.Context, wait, lease time.Duration) (bool, error) {
	r := request{lease: l.c.cfg.lease, limited: true, wait: wait}
	if lease != 0 {
		if err := checkLease(lease); err != nil {
			return false, err
		}
		r.lease, r.fixed = lease, true
	}
	_, err := l.acquire(ctx, r)
	var busy *NotAcquiredError
	if errors.As(err, &busy) && busy.Err == nil {
		return false, nil
	}
	return err == nil, err
}

// Unlock releases the owner's last hold; when that was the only one the lock goes
// to the next waiter. Renewal ends before anything is sent. It returns
// [ErrNotHeld], changing nothing, if the owner does not hold the lock, and
// [ErrLost] if it has lost it. It waits for Redis' confirmation until ctx ends;
// if there is none the error is [ErrUnconfirmed]. The release goes on in the
// background then, also when ctx had ended before the call. The ctx of the hold itself, which
// the release ends, will do: the wait is then limited to 5 s.
func (l *Lock) Unlock(ctx context.Context) error {
	owner, err := l.owner(ctx)
	if err != nil {
		return err
	}
	if l.c.closed.Load() {
		return ErrClosed
	}
	q := l.c.findQueue(l)
	if q == nil {
		return &NotHeldError{Name: l.name, Owner: owner}
	}
	defer q.leave()
	return q.unlock(ctx, owner, nil)
}

// owner is the field of ctx's owner, or of the calling goroutine.
func (l *Lock) owner(ctx context.Context) (string, error) {
	if l.err != nil {
		return "", l.err
	}
	return ownerField(ctx, l.c.id)
}
