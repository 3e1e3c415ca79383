package redlatchtest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/redlatchtest"
	"github.com/redlatch/redlatch/reentrant"
)

// settle is code under test: it settles an order, unless another process is at it.
func settle(ctx context.Context, lock *reentrant.Lock, work func(context.Context) error) error {
	return lock.With(reentrant.WithWait(0)).Do(ctx, work)
}

// Another process has the lock.
func TestExampleBusy(t *testing.T) {
	r := redlatchtest.New(t)
	lock := r.Client().NewLock("order:42")
	release := r.HoldByAnother("order:42")
	err := settle(t.Context(), lock, func(context.Context) error { return errors.New("settled twice") })
	if !errors.Is(err, reentrant.ErrBusy) {
		t.Error(err)
	}
	release()
	redlatchtest.RequireFree(t, lock)
}

// The lock is lost after five minutes of work, which take milliseconds.
func TestExampleLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := redlatchtest.New(t)
		lock := r.Client().NewLock("order:42")
		err := settle(t.Context(), lock, func(ctx context.Context) error {
			time.Sleep(5 * time.Minute)
			redlatchtest.RequireHeld(t, lock)
			r.Lose("order:42")
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, reentrant.ErrLost) {
			t.Error(err)
		}
	})
}
