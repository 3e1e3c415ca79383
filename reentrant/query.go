package reentrant

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/internal/lockstate"
	"github.com/redlatch/redlatch/lua"
)

// ask runs f, which reads the lock or forces it, until ctx ends. It returns the zero T with an error.
func ask[T any](ctx context.Context, l *Lock, f func(ctx context.Context, id identity) (T, error)) (none T, err error) {
	id, err := l.identify(ctx)
	if err != nil {
		return none, err
	}
	if ctx.Err() != nil {
		return none, named(l.name, whyEnded(ctx))
	}
	got, err := call(ctx, l.c, nil, func(inner context.Context) (got response[T]) {
		got.err = l.retry(ctx, func() (err error) {
			got.value, err = f(inner, id)
			return err
		})
		if lua.ForeignKey(got.err) {
			got.err = l.c.foreign(inner, l.name, l.keys.Lock, got.err)
		}
		return got
	})
	switch {
	case errors.Is(err, ErrClosed):
		return none, ErrClosed
	case err != nil:
		return none, named(l.name, whyEnded(ctx))
	case errors.Is(got.err, ErrForeignKey):
		return none, got.err
	case got.err != nil:
		return none, named(l.name, got.err)
	}
	return got.value, nil
}

// retry repeats a command that may run twice, but only while its caller waits. If the caller has left, a
// force would free the lock of a later holder. retry looks at ctx before the first try too: the goroutine
// that carries the call may start late.
func (l *Lock) retry(ctx context.Context, command func() error) error {
	began := time.Now()
	for try := 0; ; try++ {
		if ctx.Err() != nil {
			return whyEnded(ctx)
		}
		err := command()
		if !lua.Retryable(err) || try == lockstate.MaxRetries || time.Since(began) > lockstate.RetryWithin || !l.c.pause(backoff(try)) {
			return err
		}
	}
}

// inspect reads the lock for the calling owner. With own the answer has to be about that owner's holds,
// and not only about the lock.
func (l *Lock) inspect(ctx context.Context, own bool) (lua.Inspection, error) {
	return ask(ctx, l, func(ctx context.Context, id identity) (lua.Inspection, error) {
		behind := l.syncFieldFirst(ctx)
		// The field may not be synced. If another owner of this Client is the holder, a field of this
		// owner is left from an earlier ownership. A release may end during the query, so ask for the
		// holder before and after it.
		before := l.holder()
		field, count := l.shares(id.owner)
		state, err := l.kind.inspect(ctx, l.c.single, &l.keys, field)
		if count > 0 {
			state.Count = min(1, state.Count) * count
		}
		holder := l.holder()
		if holder == nil {
			holder = before
		}
		if id.lost != nil || holder != nil && !id.is(holder) {
			state.Count = 0
		}
		if own && err == nil && behind != nil && holder != nil && id.is(holder) {
			return state, behind // Redis' answer is about an earlier holder
		}
		return state, err
	})
}

// IsLocked reports whether any owner holds the lock, as Redis' master knows it. That may have changed by
// the time the answer is used.
//
// Like the other queries it sends one command. It waits for the answer until ctx ends, or its own retries
// do: none begins later than 2 s after the first try, and each may take go-redis' ReadTimeout. The error
// is then the error of ctx, with its cause, or of Redis. It is [ErrForeignKey] if the key is no lock, and
// [ErrClosed] if the Client is closed. With [WriteBehind] the query first syncs the Client's field in
// Redis.
func (l *Lock) IsLocked(ctx context.Context) (bool, error) {
	state, err := l.inspect(ctx, false)
	return state.Held, err
}

// IsHeld reports whether the calling owner holds the lock, as Redis knows it. It waits and fails as
// [Lock.IsLocked] does.
func (l *Lock) IsHeld(ctx context.Context) (bool, error) {
	state, err := l.inspect(ctx, true)
	return state.Count > 0, err
}

// HoldCount returns how often the calling owner holds the lock, as Redis knows it, and 0 if it does not.
// A nested call that left without an answer may count until the Client has corrected that in the
// background. It waits and fails as [Lock.IsLocked] does.
func (l *Lock) HoldCount(ctx context.Context) (int, error) {
	state, err := l.inspect(ctx, true)
	return state.Count, err
}

// TTL returns the time until the lock expires in Redis unless it is renewed, whichever owner holds it. It
// is 0 when the lock is free. It is negative when the key has no TTL; only a program that is not a client
// of the lock can have left it so. TTL waits and fails as [Lock.IsLocked] does.
func (l *Lock) TTL(ctx context.Context) (time.Duration, error) {
	state, err := l.inspect(ctx, false)
	return state.TTL, err
}

// holder returns the ownership of this Client's owner that holds the lock, or nil.
func (l *Lock) holder() *ownership {
	s := l.c.findState(l)
	if s == nil {
		return nil
	}
	defer s.dropUser()
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.state.Holder(); o != nil {
		return ownershipOf(o)
	}
	return nil
}

// shares is the field in Redis of an owner, and its hold count if it is a reader of a shared lease: Redis does not know
// that one.
func (l *Lock) shares(owner string) (field string, count int) {
	s := l.c.findState(l)
	if s == nil {
		return owner, 0
	}
	defer s.dropUser()
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.state.Owner(owner); o != nil && o.Reader() {
		return l.c.readersField, o.Count()
	}
	return owner, 0
}
