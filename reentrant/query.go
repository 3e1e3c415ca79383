package reentrant

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/lua"
)

// ask runs f, which reads the lock or forces it, until ctx ends.
func (l *Lock) ask(ctx context.Context, f func(ctx context.Context, id identity) error) error {
	id, err := l.identify(ctx)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return named(l.name, whyEnded(ctx))
	}
	var answer error
	switch err := l.c.call(ctx, nil, nil, func(inner context.Context) {
		answer = l.retry(ctx, func() error { return f(inner, id) })
		if lua.ForeignKey(answer) {
			answer = l.c.foreign(inner, l.name, l.keys.Lock, answer)
		}
	}); {
	case errors.Is(err, ErrClosed):
		return ErrClosed
	case err != nil:
		return named(l.name, whyEnded(ctx))
	case errors.Is(answer, ErrForeignKey):
		return answer
	case answer != nil:
		return named(l.name, answer)
	}
	return nil
}

// retry repeats a command that may run twice, while its caller waits: a force for nobody would
// hit whoever holds the lock by then. That is looked at before the first try too, since the
// goroutine that carries the call may start late.
func (l *Lock) retry(ctx context.Context, command func() error) error {
	began := time.Now()
	for try := 0; ; try++ {
		if ctx.Err() != nil {
			return whyEnded(ctx)
		}
		err := command()
		if !lua.Retryable(err) || try == maxRetries || time.Since(began) > retryWithin || !l.c.pause(backoff(try)) {
			return err
		}
	}
}

// inspect reads the lock for the calling owner. own says that the answer has to be about
// that owner's holds, and not only about the lock.
func (l *Lock) inspect(ctx context.Context, own bool) (state lua.Inspection, err error) {
	var answer lua.Inspection
	err = l.ask(ctx, func(ctx context.Context, id identity) (err error) {
		behind := l.syncFieldFirst(ctx)
		// The field may be behind: with another owner of this Client as the holder, this
		// one's is what is left of an earlier tenure. Asked before as well as after: a release
		// may end in between.
		before := l.holder()
		answer, err = lua.Inspect(ctx, l.c.single, &l.keys, id.owner)
		holder := l.holder()
		if holder == nil {
			holder = before
		}
		if id.lost != nil || holder != nil && !id.is(holder) {
			answer.Count = 0
		}
		if own && err == nil && behind != nil && holder != nil && id.is(holder) {
			return behind // what Redis says is about an earlier holder
		}
		return err
	})
	if err != nil {
		return lua.Inspection{}, err // and not answer, which may still be written
	}
	return answer, nil
}

// IsLocked reports whether anybody holds the lock, as Redis' master knows it. It may
// have changed by the time the answer is used.
//
// Like the other queries it sends one command, and waits for the answer until ctx ends, or its
// own retries do: none begins later than 2 s after the first try, and each may take go-redis'
// ReadTimeout. The error is then that of ctx, with its cause, or of Redis; [ErrForeignKey] if
// the key is no lock, [ErrClosed] if the Client is closed. With [WriteBehind] the Client's field
// in Redis is brought in line first.
func (l *Lock) IsLocked(ctx context.Context) (bool, error) {
	state, err := l.inspect(ctx, false)
	return state.Held, err
}

// IsHeld reports whether the calling owner holds the lock, as Redis knows it. It waits and
// fails as [Lock.IsLocked] does.
func (l *Lock) IsHeld(ctx context.Context) (bool, error) {
	state, err := l.inspect(ctx, true)
	return state.Count > 0, err
}

// HoldCount returns how often the calling owner holds the lock, as Redis knows it;
// 0 if it does not. A nested call that left without an answer may be counted until the Client,
// which goes on in the background, has put that right. It waits and fails as [Lock.IsLocked] does.
func (l *Lock) HoldCount(ctx context.Context) (int, error) {
	state, err := l.inspect(ctx, true)
	return state.Count, err
}

// TTL returns the time until the lock expires in Redis unless it is renewed,
// whoever holds it; 0 when it is free, and a negative value when the key has no
// TTL, as somebody other than a lock's client may have left it. It waits and fails as
// [Lock.IsLocked] does.
func (l *Lock) TTL(ctx context.Context) (time.Duration, error) {
	state, err := l.inspect(ctx, false)
	return state.TTL, err
}

// ForceUnlock frees the lock whoever holds it, wakes a waiter, and reports whether
// anybody held it. It is for operators: a holder of another Client goes on working until it
// finds out, at its next renewal or release, that it has lost the lock; one of this Client is
// told at once. It waits and fails as [Lock.IsLocked] does, first for a command of this Client about
// the lock that is under way. After an error the lock may have
// been freed, or may still be by the command that was under way, whoever holds it by then. If the
// reply to a first try was lost it may report false though that try has freed the lock; a holder
// of this Client is told in that case too.
func (l *Lock) ForceUnlock(ctx context.Context) (bool, error) {
	var freed, doubted bool
	caller := ctx
	err := l.ask(ctx, func(ctx context.Context, _ identity) error {
		// In turn: Redis grants this Client nothing meanwhile, and hands nothing over, so
		// whoever of its owners is robbed is known.
		s := l.c.useState(l)
		defer s.dropUser()
		t := s.takeTurn()
		defer t.done()
		if caller.Err() != nil {
			return whyEnded(caller) // it has left while others had the turn
		}
		t.begin()
		began := time.Now()
		defer t.end()
		robbed := l.holder()
		now, err := lua.Force(ctx, l.c.single, &l.keys, l.c.wakeUp())
		freed, doubted = freed || now, doubted || lua.Unknown(err)
		if err == nil || time.Since(began) > silence { // not for one lost reply, which nobody repeats
			t.note(err)
		}
		// After a try without an answer "it was free" may be that try's work. Told here, as
		// the caller may have left.
		if err == nil && (freed || doubted) && robbed != nil {
			robbed.s.lose(robbed.lease, Overridden)
		}
		return err
	})
	if err != nil {
		return false, err // and not freed, which may still be written
	}
	return freed, nil
}

// holder is the ownership of one of this Client's owners, nil if there is none.
func (l *Lock) holder() *ownership {
	s := l.c.findState(l)
	if s == nil {
		return nil
	}
	defer s.dropUser()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holder
}
