package redlatchtest

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// tellsBusy: a lock that another owner holds is no error of TryLock.
func tellsBusy(s *scene) error { return s.held(s.isBusy) }

// waitsAsLongAsTold: TryLock with a wait comes back when it is over, and with the lock if that becomes free before.
func waitsAsLongAsTold(s *scene) error {
	wait := func(l Locker, free bool, least, most time.Duration) error {
		start := time.Now()
		ok, err := l.TryLock(s.ctx, time.Minute, 0)
		if err == nil && ok != free {
			err = fmt.Errorf("in TryLock: %v", ok)
		}
		return errors.Join(err, took("TryLock with a wait of 1m", start, least, most))
	}
	for _, l := range []Locker{s.a, s.b} {
		if err := s.held(func() error {
			return s.elsewhere(func() error { return wait(l, false, 59*time.Second, 62*time.Second) })
		}); err != nil {
			return err
		}
		var waiter <-chan error
		err := s.held(func() error {
			waiter = s.begin(func() error {
				return inTurn(func() error { return wait(l, true, 9*time.Second, 20*time.Second) }, func() error { return s.unlock(l) })
			})
			time.Sleep(10 * time.Second)
			return nil
		})
		if err := errors.Join(err, <-waiter); err != nil {
			return err
		}
	}
	return s.isFree()
}

// waits are the calls that wait for a lock. The last results say whether they got it.
func waits(l Locker) map[string]func(ctx context.Context) (got bool, err error) {
	return map[string]func(ctx context.Context) (bool, error){
		"Lock": func(ctx context.Context) (bool, error) {
			err := l.Lock(ctx)
			return err == nil, err
		},
		"TryLock": func(ctx context.Context) (bool, error) { return l.TryLock(ctx, time.Hour, 0) },
		"Do": func(ctx context.Context) (got bool, err error) {
			err = l.Do(ctx, func(context.Context) error {
				got = true
				return nil
			})
			return got, err
		},
	}
}

// endsWithCtx: a wait ends with its ctx, with its error, and without the lock.
func endsWithCtx(s *scene) error {
	return s.held(func() error {
		for _, l := range []Locker{s.a, s.b} {
			for name, call := range waits(l) {
				if err := s.elsewhere(func() error { return s.endsWith(name, call) }); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (s *scene) endsWith(name string, call func(ctx context.Context) (bool, error)) error {
	start := time.Now()
	ctx, cancel := context.WithTimeout(s.ctx, 7*time.Second)
	defer cancel()
	got, err := call(ctx)
	if got || !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s, whose ctx has a deadline: %v, %v; want no lock, and context.DeadlineExceeded", name, got, err)
	}
	if err := took(name+" with a deadline of 7s", start, 6*time.Second, 10*time.Second); err != nil {
		return err
	}
	start = time.Now()
	ctx, cancel = context.WithCancel(s.ctx)
	stop := time.AfterFunc(7*time.Second, cancel)
	defer stop.Stop()
	got, err = call(ctx)
	if got || !errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s, whose ctx is canceled: %v, %v; want no lock, and context.Canceled", name, got, err)
	}
	return took(name+" that is canceled after 7s", start, 6*time.Second, 10*time.Second)
}

// refusesEndedCtx: a call whose ctx has ended takes nothing, although the lock is free.
func refusesEndedCtx(s *scene) error {
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	for name, call := range waits(s.a) {
		if got, err := call(ctx); got || err == nil {
			return fmt.Errorf("%s with a ctx that has ended: %v, %v; want no lock, and an error", name, got, err)
		}
	}
	return s.isFree()
}

// leavesNothing: a call that has left its wait takes no lock later.
func leavesNothing(s *scene) error {
	err := s.held(func() error {
		for _, call := range waits(s.b) {
			err := s.elsewhere(func() error {
				ctx, cancel := context.WithTimeout(s.ctx, time.Second)
				defer cancel()
				if got, err := call(ctx); got || err == nil {
					return errors.New("a call has got a lock that another owner holds")
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	time.Sleep(5 * time.Second)
	return s.isFree()
}

// tellsOutage: if Redis cannot say whether the lock is free, TryLock returns an error. A caller that took it for busy
// would believe that another process does the work.
func tellsOutage(s *scene) error {
	s.r.Refuse("ERR out of order")
	for _, wait := range []time.Duration{0, 2 * time.Second} {
		if ok, err := s.a.TryLock(s.ctx, wait, 0); ok || err == nil {
			return fmt.Errorf("TryLock, while Redis refuses every command: %v, %v; want an error", ok, err)
		}
	}
	s.r.Answer()
	return s.isFree()
}
