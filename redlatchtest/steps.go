package redlatchtest

import (
	"errors"
	"fmt"
	"time"
)

// try is a single attempt that is to find the lock free, or busy.
func (s *scene) try(l Locker, free bool) error {
	ok, err := l.TryLock(s.ctx, 0, 0)
	switch {
	case err != nil:
		return fmt.Errorf("in TryLock: %w", err)
	case ok && !free:
		return errors.New("a TryLock has got a lock that another owner holds")
	case !ok && free:
		return errors.New("TryLock finds a free lock busy")
	}
	return nil
}

// isFree takes the lock and releases it, as owners of both processes.
func (s *scene) isFree() error {
	for _, l := range []Locker{s.a, s.b} {
		err := s.elsewhere(func() error {
			return inTurn(func() error { return s.try(l, true) }, func() error { return s.unlock(l) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// isBusy looks at the lock as other owners of both processes.
func (s *scene) isBusy() error {
	for _, l := range []Locker{s.a, s.b} {
		if err := s.elsewhere(func() error { return s.try(l, false) }); err != nil {
			return err
		}
	}
	return nil
}

func (s *scene) lock(l Locker) error {
	if err := l.Lock(s.ctx); err != nil {
		return fmt.Errorf("in Lock: %w", err)
	}
	return nil
}

func (s *scene) unlock(l Locker) error {
	if err := l.Unlock(s.ctx); err != nil {
		return fmt.Errorf("in Unlock: %w", err)
	}
	return nil
}

// held runs f while an owner of a holds the lock, on a goroutine of its own.
func (s *scene) held(f func() error) error {
	taken, done := make(chan struct{}), make(chan struct{})
	holder := s.begin(func() error {
		if err := s.lock(s.a); err != nil {
			return err
		}
		close(taken)
		<-done
		return s.unlock(s.a)
	})
	select {
	case err := <-holder:
		return err
	case <-taken:
	case <-time.After(limit):
		return errors.New("a call of Lock has not returned, and the lock was free")
	}
	err := f()
	close(done)
	return errors.Join(err, <-holder)
}

// inTurn stops at the first error.
func inTurn(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// took is wrong if a call that began at start did not end between two times after it.
func took(what string, start time.Time, least, most time.Duration) error {
	if d := time.Since(start); d < least || d > most {
		return fmt.Errorf("%s has taken %v, and not %v to %v", what, d, least, most)
	}
	return nil
}
