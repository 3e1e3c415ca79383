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
// was busy all the while, and false and an error that is [ErrNotAcquired] when
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
// background then, also when ctx had ended before the call.
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
	defer l.c.leaveQueue(q)
	return q.unlock(ctx, owner, nil)
}

// acquire takes the lock for the owner of ctx.
func (l *Lock) acquire(ctx context.Context, r request) (*holding, error) {
	owner, err := l.owner(ctx)
	if err != nil {
		return nil, err
	}
	r.owner, r.fencing, r.began = owner, l.fencing, time.Now()
	if ctx.Err() != nil {
		return nil, &NotAcquiredError{Name: l.name, Err: context.Cause(ctx)}
	}
	// Close waits for the call, and so for what it begins to clean up on leaving: a
	// client that is gone must not stay registered as a waiter.
	if !l.c.begin() {
		return nil, ErrClosed
	}
	defer l.c.end()
	q := l.c.joinQueue(l)
	defer l.c.leaveQueue(q)
	for {
		h, err := q.enter(ctx, &r)
		if h != nil || err != nil {
			return h, err
		}
	}
}

// enter re-enters the lock if the owner holds it, and queues otherwise. It returns
// neither a holding nor an error if it has to be called again.
func (q *queue) enter(ctx context.Context, r *request) (*holding, error) {
	q.mu.Lock()
	if h := q.holder; h != nil && h.owner == r.owner && h.state == live {
		q.mu.Unlock()
		switch err := h.reenter(ctx, r); {
		case errors.Is(err, errGone):
			return nil, nil
		case err == nil:
			return h, nil
		case errors.Is(err, ErrLost), errors.Is(err, ErrClosed):
			return nil, err
		default:
			return nil, &NotAcquiredError{Name: q.name, Waited: time.Since(r.began), Err: err}
		}
	}
	if q.c.isClosing() {
		q.mu.Unlock()
		return nil, ErrClosed
	}
	if r.limited && r.wait <= 0 && (q.holder != nil || q.waiters.Len() > 0) {
		busy := &NotAcquiredError{Name: q.name, Waited: time.Since(r.began)}
		if q.holder != nil {
			busy.Holder = q.holder.owner
		}
		q.mu.Unlock()
		return nil, busy
	}
	w := q.enqueue(*r)
	q.mu.Unlock()
	return q.await(ctx, w)
}

// owner is the field of ctx's owner, or of the calling goroutine.
func (l *Lock) owner(ctx context.Context) (string, error) {
	if l.err != nil {
		return "", l.err
	}
	owner, err := ownerOf(ctx)
	if err != nil {
		return "", err
	}
	return l.c.id + ":" + owner, nil
}

// ask runs f, which reads the lock or forces it, until ctx ends.
func (l *Lock) ask(ctx context.Context, f func(ctx context.Context, owner string) error) error {
	owner, err := l.owner(ctx)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return named(l.name, context.Cause(ctx))
	}
	var answer error
	switch err := l.c.call(ctx, nil, nil, func(ctx context.Context) { answer = l.retry(ctx, owner, f) }); {
	case errors.Is(err, ErrClosed):
		return ErrClosed
	case err != nil:
		return named(l.name, context.Cause(ctx))
	case lua.ForeignKey(answer):
		return foreign(l.name, answer)
	case answer != nil:
		return named(l.name, answer)
	}
	return nil
}

// retry repeats a command that may run twice.
func (l *Lock) retry(ctx context.Context, owner string, f func(ctx context.Context, owner string) error) error {
	began := time.Now()
	for try := 0; ; try++ {
		err := f(ctx, owner)
		if !lua.Retryable(err) || try == maxRetries || time.Since(began) > retryWithin || !l.c.pause(backoff(try)) {
			return err
		}
	}
}

// inspect reads the lock for the calling owner.
func (l *Lock) inspect(ctx context.Context) (state lua.Inspection, err error) {
	var answer lua.Inspection
	err = l.ask(ctx, func(ctx context.Context, owner string) (err error) {
		answer, err = lua.Inspect(ctx, l.c.rdb, &l.keys, owner)
		return err
	})
	if err != nil {
		return lua.Inspection{}, err // and not answer, which may still be written
	}
	return answer, nil
}

// IsLocked reports whether anybody holds the lock, as Redis' master knows it. It may
// have changed by the time the answer is used. Like the other queries it sends one
// command, and waits for the answer until ctx ends.
func (l *Lock) IsLocked(ctx context.Context) (bool, error) {
	state, err := l.inspect(ctx)
	return state.Held, err
}

// IsHeld reports whether the calling owner holds the lock, as Redis knows it.
func (l *Lock) IsHeld(ctx context.Context) (bool, error) {
	state, err := l.inspect(ctx)
	return state.Count > 0, err
}

// HoldCount returns how often the calling owner holds the lock, as Redis knows it;
// 0 if it does not.
func (l *Lock) HoldCount(ctx context.Context) (int, error) {
	state, err := l.inspect(ctx)
	return state.Count, err
}

// TTL returns the time until the lock expires in Redis unless it is renewed,
// whoever holds it; 0 when it is free, and a negative value when the key has no
// TTL, which no client of Redlatch or Redisson leaves behind.
func (l *Lock) TTL(ctx context.Context) (time.Duration, error) {
	state, err := l.inspect(ctx)
	return state.TTL, err
}

// ForceUnlock frees the lock whoever holds it, wakes a waiter, and reports whether
// anybody held it. It is for operators: the holder goes on working until it finds
// out, at its next renewal or unlock, that it has lost the lock. If no answer comes
// the lock may have been freed or may still be, whoever holds it by then.
func (l *Lock) ForceUnlock(ctx context.Context) (bool, error) {
	var freed bool
	err := l.ask(ctx, func(ctx context.Context, _ string) error {
		now, err := lua.Force(ctx, l.c.rdb, &l.keys, l.c.wakeUp())
		freed = freed || now
		return err
	})
	if err != nil {
		return false, err
	}
	if q := l.c.findQueue(l); q != nil {
		defer l.c.leaveQueue(q)
		q.mu.Lock()
		h := q.holder
		q.mu.Unlock()
		if freed && h != nil {
			q.lose(h, Overridden)
		}
	}
	return freed, nil
}
