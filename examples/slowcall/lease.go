package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/examples/internal/demo"
	"github.com/redlatch/redlatch/reentrant"
)

// tooShort has both take a lock that is not renewed and ends before the call does.
func (s *scenario) tooShort(ctx context.Context) error {
	s.log.Section("1. A lease that is not renewed (LockLease): two at work at the same time")
	var d desk
	err := s.both(ctx, &d, "LockLease", func(ctx context.Context, l *reentrant.Lock) error {
		return l.LockLease(ctx, lease)
	})
	if !errors.Is(err, reentrant.ErrLost) {
		return fmt.Errorf("no lock was lost: %w", err)
	}
	s.log.Line("", "", "both were at work for %s", demo.MS(d.shared()))
	if d.shared() == 0 {
		return errors.New("they took turns")
	}
	return nil
}

// renewed has both take a lock that is renewed.
func (s *scenario) renewed(ctx context.Context) error {
	s.log.Section("2. A lease that is renewed (Lock): bert waits until anna is done")
	var d desk
	before := s.anna.Stats().Renewals
	err := s.both(ctx, &d, "Lock", func(ctx context.Context, l *reentrant.Lock) error { return l.Lock(ctx) })
	if err != nil {
		return err
	}
	s.log.Line("", "", "both were at work for %s; anna's lease was renewed %d times",
		demo.MS(d.shared()), s.anna.Stats().Renewals-before)
	if d.shared() != 0 {
		return errors.New("both were at work")
	}
	return nil
}

// both has anna take the lock for a slow call, and then bert for a short one.
func (s *scenario) both(ctx context.Context, d *desk, how string, take func(context.Context, *reentrant.Lock) error) error {
	has, bertHas := make(chan struct{}), make(chan struct{})
	errs := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx) // the other one, if one fails
	defer cancel()
	go func() {
		errs <- s.work(ctx, d, s.anna, "anna", how, take, has, call)
	}()
	var err error
	select {
	case <-has:
		err = s.work(ctx, d, s.bert, "bert", how, take, bertHas, call/4)
	case err = <-errs:
		return err
	}
	if err != nil {
		cancel()
	}
	return errors.Join(err, <-errs)
}

// work is one of them: lock, call, unlock. It closes has once it has the lock.
func (s *scenario) work(ctx context.Context, d *desk, client *reentrant.Client, who, how string,
	take func(context.Context, *reentrant.Lock) error, has chan<- struct{}, slow time.Duration) error {
	lock := client.NewLock(s.name)
	began := time.Now()
	if err := take(ctx, lock); err != nil {
		return err
	}
	there := d.enter(who)
	close(has)
	s.log.Line(who, how, "has it after %s; at work: %s", demo.MS(time.Since(began)), there)
	err := demo.Sleep(ctx, slow)
	d.leave(who)
	unlocked := lock.Unlock(ctx)
	switch {
	case errors.Is(unlocked, reentrant.ErrLost):
		s.log.Line(who, "Unlock", "is ErrLost: it was over before the call was")
	case unlocked == nil:
		s.log.Line(who, "Unlock", "done")
	}
	return errors.Join(err, unlocked)
}
