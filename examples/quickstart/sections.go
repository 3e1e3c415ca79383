package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// nesting locks the same name at every level of a call chain.
func (t *tour) nesting(ctx context.Context) error {
	t.log.section("1. Nested locking: settle calls book calls notify, each takes the same lock")
	return t.call(ctx, "settle", "book", "notify")
}

// call is the first function of the chain: it takes the lock, calls the rest of the
// chain and unlocks.
func (t *tour) call(ctx context.Context, chain ...string) error {
	if len(chain) == 0 {
		return t.showHash(ctx)
	}
	lock := t.anna.NewLock(order)
	if err := lock.Lock(ctx); err != nil {
		return err
	}
	count, countErr := lock.HoldCount(ctx)
	t.log.line("anna", chain[0]+": Lock", "hold count in Redis: %d", count)

	err := t.call(ctx, chain[1:]...)

	if unlockErr := lock.Unlock(ctx); unlockErr != nil {
		return errors.Join(countErr, err, unlockErr)
	}
	count, lastErr := lock.HoldCount(ctx)
	t.log.line("anna", chain[0]+": Unlock", "hold count in Redis: %d", count)
	return errors.Join(countErr, err, lastErr)
}

// showHash prints the lock as it is kept in Redis, and in Redisson's format.
func (t *tour) showHash(ctx context.Context) error {
	hash, err := t.rdb.HGetAll(ctx, t.prefix+order).Result()
	for owner, count := range hash {
		client, goroutine, _ := strings.Cut(owner, ":")
		t.log.line("redis", "HGETALL", "%.8s...:%s = %s   client:goroutine = count", client, goroutine, count)
	}
	return err
}

// timeout shows a wait that ends before the lock is free.
func (t *tour) timeout(ctx context.Context) error {
	t.log.section("2. TryLock gives up: bert holds the lock, anna waits 0.5 s at most")
	hold, err := t.bert.NewLock(ticket).Acquire(ctx)
	if err != nil {
		return err
	}
	t.log.line("bert", "Acquire", "bert holds %q", ticket)

	t.log.line("anna", "TryLock 500ms", "waiting ...")
	began := time.Now()
	ok, err := t.anna.NewLock(ticket).TryLock(ctx, 500*time.Millisecond, 0)
	t.log.line("anna", "TryLock 500ms", "got it: %v, error: %v, after %s", ok, err, ms(time.Since(began)))
	return errors.Join(err, hold.Release(ctx))
}

// wakeUp shows that a release wakes a waiter of another client.
func (t *tour) wakeUp(ctx context.Context) error {
	t.log.section("3. TryLock is woken: bert holds the lock for 0.8 s, anna waits 5 s at most")
	hold, err := t.bert.NewLock(ticket).Acquire(ctx)
	if err != nil {
		return err
	}
	t.log.line("bert", "Acquire", "bert holds %q", ticket)

	before := t.anna.Stats().WakeUps.Message
	var released time.Time
	done := make(chan error, 1)
	go func() {
		_ = sleep(ctx, 800*time.Millisecond) // if ctx has ended, release at once
		t.log.line("bert", "Release", "bert lets go")
		released = time.Now()
		done <- hold.Release(ctx)
	}()

	t.log.line("anna", "TryLock 5s", "waiting ...")
	lock := t.anna.NewLock(ticket)
	ok, err := lock.TryLock(ctx, 5*time.Second, 0)
	got := time.Now()
	if err := errors.Join(err, <-done); err != nil {
		return err
	}
	if !ok {
		return errors.New("anna was not woken")
	}
	t.log.line("anna", "TryLock 5s", "got it: %v, %s after bert's Release began", ok, ms(got.Sub(released)))
	t.log.line("anna", "Stats", "WakeUps.Message: %d, the release itself woke anna", t.anna.Stats().WakeUps.Message-before)
	return lock.Unlock(ctx)
}

// renewal holds a lock for longer than its lease.
func (t *tour) renewal(ctx context.Context) error {
	t.log.section("4. Renewal: carl's lease is 1 s, and carl holds the lock for 3 s")
	hold, err := t.carl.NewLock(report).Acquire(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	t.log.line("carl", "Acquire", "carl holds %q", report)
	for range 6 {
		if err = sleep(hold.Context(), 500*time.Millisecond); err != nil {
			break
		}
		var left time.Duration
		if left, err = t.carl.NewLock(report).TTL(ctx); err != nil {
			break
		}
		t.log.line("carl", "TTL", "held for %.1f s, expires in %3d ms unless renewed",
			time.Since(began).Seconds(), left.Milliseconds())
	}
	renewals := t.carl.Stats().Renewals
	if err := errors.Join(err, hold.Release(ctx)); err != nil {
		return err
	}
	t.log.line("carl", "Release", "renewed %d times", renewals)
	return nil
}

// loss shows how a holder learns that it holds the lock no longer.
func (t *tour) loss(ctx context.Context) error {
	t.log.section("5. A lost lock: bert forces carl's lock open, and the ctx of carl's work ends")
	hold, err := t.carl.NewLock(report).Acquire(ctx)
	if err != nil {
		return err
	}
	work := hold.Context()
	t.log.line("carl", "Acquire", "carl works under the hold's ctx")

	freed, err := t.bert.NewLock(report).ForceUnlock(ctx)
	if err != nil {
		return errors.Join(err, hold.Release(ctx))
	}
	forced := time.Now()
	t.log.line("bert", "ForceUnlock", "freed: %v", freed)

	<-work.Done()
	t.log.line("carl", "ctx ended", "%s later, at carl's next renewal", ms(time.Since(forced)))
	var lost *reentrant.LostError
	if !errors.As(context.Cause(work), &lost) {
		return errors.Join(context.Cause(work), hold.Release(ctx))
	}
	t.log.line("carl", "context.Cause", "is ErrLost: %v; %s", errors.Is(context.Cause(work), reentrant.ErrLost), lost.Reason)

	err = hold.Release(ctx)
	t.log.line("carl", "Release", "is ErrLost: %v", errors.Is(err, reentrant.ErrLost))
	if !errors.Is(err, reentrant.ErrLost) {
		return fmt.Errorf("the loss went unnoticed: %w", err)
	}
	return nil
}
