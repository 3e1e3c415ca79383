package multilock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// A cancellation ends no release of a MultiLock, and a deadline only if it is still to come.
func TestReleaseWaits(t *testing.T) {
	const untilReleased = 5 * time.Second
	for _, with := range []struct {
		name  string
		from  func(ctx context.Context) (context.Context, context.CancelFunc)
		waits time.Duration
	}{
		{"one that was cancelled", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return ctx, cancel
		}, untilReleased},
		{"one that is cancelled meanwhile", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(100*time.Millisecond, cancel)
			return ctx, cancel
		}, untilReleased},
		{"a deadline that has passed", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, -time.Hour)
		}, untilReleased},
		{"a deadline to come, and cancelled", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			cancel()
			return ctx, cancel
		}, time.Second},
	} {
		for what, release := range map[string]func(v *virtual, l *multilock.MultiLock, ctx func() context.Context) error{
			"Unlock": func(v *virtual, l *multilock.MultiLock, ctx func() context.Context) error {
				must(v.t, l.Lock(as(v.ctx, "x")))
				return l.Unlock(as(ctx(), "x"))
			},
			"Release": func(v *virtual, l *multilock.MultiLock, ctx func() context.Context) error {
				hold, err := l.Acquire(v.ctx)
				must(v.t, err)
				return hold.Release(ctx())
			},
		} {
			for _, silent := range []bool{false, true} {
				forBoth(t, 3, func(t *testing.T, v *virtual, lock func(fleet) *multilock.MultiLock) {
					l := lock(v.processWith(nil, reentrant.WithLease(30*time.Second)))
					var began time.Time
					err := release(v, l, func() context.Context {
						for _, s := range v.s {
							if silent {
								t.Cleanup(s.silence())
							}
						}
						ctx, cancel := with.from(v.ctx)
						t.Cleanup(cancel)
						began = time.Now()
						return ctx
					})
					took := time.Since(began)
					switch {
					case !silent && (err != nil || took != 0):
						t.Errorf("%s with %s: %v after %v", what, with.name, err, took)
					case silent && !(errors.Is(err, reentrant.ErrUnconfirmed) && took == with.waits):
						t.Errorf("%s with %s: %v after %v, want %v", what, with.name, err, took, with.waits)
					}
				})
			}
		}
	}
}

// Do's release goes by the same rule.
func TestDoReleasesAfterACancellation(t *testing.T) {
	forBoth(t, 3, func(t *testing.T, v *virtual, lock func(fleet) *multilock.MultiLock) {
		ctx, cancel := context.WithCancel(v.ctx)
		err := lock(v.process()).Do(ctx, func(ctx context.Context) error { cancel(); return ctx.Err() })
		if wants(t, err, context.Canceled); errors.Is(err, reentrant.ErrUnconfirmed) {
			t.Error(err)
		}
		for _, s := range v.s {
			if s.Exists(name) {
				t.Error("left behind")
			}
		}
	})
}
