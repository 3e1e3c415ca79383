package redlatchtest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// isTakenAndFreed: a free lock is taken at once by each of the calls, and free again after them.
func isTakenAndFreed(s *scene) error {
	called := false
	return inTurn(
		func() error { return s.try(s.a, true) }, s.isBusy, func() error { return s.unlock(s.a) }, s.isFree,
		func() error { return s.lock(s.a) }, s.isBusy, func() error { return s.unlock(s.a) }, s.isFree,
		func() error {
			return s.a.Do(s.ctx, func(context.Context) error {
				called = true
				return s.isBusy()
			})
		}, s.isFree,
		func() error {
			if !called {
				return errors.New("a call of Do has not called its function")
			}
			return nil
		})
}

// excludes: of many owners in two processes one has the lock at a time.
func excludes(s *scene) error {
	var inside atomic.Int32
	section := func() error {
		if n := inside.Add(1); n != 1 {
			return fmt.Errorf("%d owners hold the lock at a time", n)
		}
		time.Sleep(time.Millisecond)
		inside.Add(-1)
		return nil
	}
	work := func(l Locker) error {
		for range 5 {
			err := l.Do(s.ctx, func(context.Context) error { return section() })
			if err != nil {
				return err
			}
			if err := inTurn(func() error { return s.lock(l) }, section, func() error { return s.unlock(l) }); err != nil {
				return err
			}
		}
		return nil
	}
	var owners []<-chan error
	for range 4 {
		for _, l := range []Locker{s.a, s.b} {
			owners = append(owners, s.begin(func() error { return work(l) }))
		}
	}
	var errs []error
	for _, owner := range owners {
		errs = append(errs, <-owner)
	}
	return errors.Join(errs...)
}

// wakesWaiter: who waits has the lock soon after its release, and need not wait for the end of a lease.
func wakesWaiter(s *scene) error {
	for _, l := range []Locker{s.a, s.b} {
		var waiter <-chan error
		var granted time.Time
		err := s.held(func() error {
			waiter = s.begin(func() error {
				err := s.lock(l)
				granted = time.Now()
				return errors.Join(err, s.unlock(l))
			})
			time.Sleep(5 * time.Second)
			return nil
		})
		released := time.Now()
		if err := errors.Join(err, <-waiter); err != nil {
			return err
		}
		if d := granted.Sub(released); d < -time.Second || d > 5*time.Second {
			return fmt.Errorf("a waiter has the lock %v after its release", d)
		}
	}
	return nil
}

// outlivesLease: a hold is renewed as long as it lasts.
func outlivesLease(s *scene) error {
	return inTurn(func() error {
		return s.held(func() error {
			time.Sleep(5 * time.Minute)
			return s.isBusy()
		})
	}, s.isFree, func() error {
		return s.a.Do(s.ctx, func(ctx context.Context) error {
			time.Sleep(5 * time.Minute)
			return errors.Join(context.Cause(ctx), s.isBusy())
		})
	}, s.isFree)
}

// reenters: an owner takes the lock again at once, and the last Unlock frees it.
func reenters(s *scene) error {
	lock, unlock := func() error { return s.lock(s.a) }, func() error { return s.unlock(s.a) }
	return inTurn(lock, lock, func() error { return s.try(s.a, true) }, s.isBusy, unlock, s.isBusy, unlock, s.isBusy, unlock, s.isFree)
}

// reentersByCtx: the ctx that Do hands on enters the lock again, on any goroutine.
func reentersByCtx(s *scene) error {
	inner := 0
	err := s.a.Do(s.ctx, func(ctx context.Context) error {
		count := func(context.Context) error {
			inner++
			return s.isBusy()
		}
		return inTurn(
			func() error { return s.a.Do(ctx, count) }, s.isBusy,
			func() error { return s.elsewhere(func() error { return s.a.Do(ctx, count) }) }, s.isBusy)
	})
	if err == nil && inner != 2 {
		err = fmt.Errorf("%d of 2 inner calls of Do have called their functions", inner)
	}
	return errors.Join(err, s.isFree())
}
