package redlatchtest

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// refusesOthers: only the owner releases the lock, and no other goroutine or process.
func refusesOthers(s *scene) error {
	err := s.held(func() error {
		for _, l := range []Locker{s.a, s.b} {
			if s.elsewhere(func() error { return l.Unlock(s.ctx) }) == nil {
				return errors.New("an Unlock by an owner that does not hold the lock returns nil")
			}
		}
		return s.isBusy()
	})
	return errors.Join(err, s.isFree())
}

// refusesUnlock: an Unlock too many is an error.
func refusesUnlock(s *scene) error {
	if s.a.Unlock(s.ctx) == nil {
		return errors.New("an Unlock of a free lock returns nil")
	}
	if err := inTurn(func() error { return s.lock(s.a) }, func() error { return s.unlock(s.a) }); err != nil {
		return err
	}
	if s.a.Unlock(s.ctx) == nil {
		return errors.New("the second Unlock after one Lock returns nil")
	}
	return s.isFree()
}

// tellsDoOfLoss: when the lock is lost the ctx of the function ends, and Do returns an error although the function
// returned none. The lock can be taken again.
func tellsDoOfLoss(s *scene) error {
	err := s.a.Do(s.ctx, func(ctx context.Context) error {
		s.r.mini.FlushAll()
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Minute):
			return errUntold
		}
	})
	switch {
	case errors.Is(err, errUntold):
		return errUntold
	case err == nil:
		return errors.New("a call of Do has lost the lock, and returns nil")
	}
	return s.isFree()
}

var errUntold = errors.New("the lock was lost a minute ago, and the ctx of the function has not ended")

// tellsUnlockOfLoss: the Unlock of a lock that was lost is an error, and frees no lock of the next owner.
func tellsUnlockOfLoss(s *scene) error {
	if err := s.lock(s.b); err != nil {
		return err
	}
	s.r.mini.FlushAll()
	err := s.held(func() error {
		if s.b.Unlock(s.ctx) == nil {
			return errors.New("an Unlock of a lock that was lost returns nil")
		}
		return s.isBusy()
	})
	return errors.Join(err, s.isFree())
}

// returnsErrorOfFn: Do returns the error of its function, and frees the lock.
func returnsErrorOfFn(s *scene) error {
	want := errors.New("the function has failed")
	if err := s.a.Do(s.ctx, func(context.Context) error { return want }); !errors.Is(err, want) {
		return fmt.Errorf("a call of Do returns %v, want the error of its function", err)
	}
	return s.isFree()
}

// freesAfterPanic: a panic of the function goes on to the caller of Do, and frees the lock.
func freesAfterPanic(s *scene) error {
	panicked := func() (value any) {
		defer func() { value = recover() }()
		_ = s.a.Do(s.ctx, func(context.Context) error { panic("the function has panicked") })
		return nil
	}()
	if panicked == nil {
		return errors.New("a call of Do has not passed on the panic of its function")
	}
	return s.isFree()
}
