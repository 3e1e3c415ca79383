package reentrant_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// releaseCtx is a ctx with which a release may be called, and how long that may wait with it.
type releaseCtx struct {
	name  string
	from  func(ctx context.Context) (context.Context, context.CancelFunc)
	waits time.Duration
}

const untilReleased = 5 * time.Second

func releaseCtxs() []releaseCtx {
	cancelled := func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(locktest.ErrGivenUp)
		return ctx, func() {}
	}
	within := func(d time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
		return func(ctx context.Context) (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, d) }
	}
	return []releaseCtx{
		{"one that has no deadline", context.WithCancel, untilReleased},
		{"one that was cancelled", cancelled, untilReleased},
		{"a deadline to come", within(time.Second), time.Second},
		{"a deadline to come, later than otherwise", within(6 * time.Second), 6 * time.Second},
		{"a deadline that has passed", within(-time.Hour), untilReleased},
		{"no time at all", within(0), untilReleased},
		{"a deadline to come, and cancelled", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := within(time.Second)(ctx)
			cancel()
			return ctx, cancel
		}, time.Second},
		{"one that is cancelled meanwhile", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(100*time.Millisecond, cancel)
			return ctx, cancel
		}, untilReleased},
	}
}

// releases are all that release a hold, each called with a ctx that is made when it is held.
var releases = map[string]func(v *virtual, l *reentrant.Lock, ctx func(context.Context) context.Context) error{
	"Unlock": func(v *virtual, l *reentrant.Lock, ctx func(context.Context) context.Context) error {
		must(v.t, l.Lock(asHolder(v.t)))
		return l.Unlock(ctx(asHolder(v.t)))
	},
	"an inner Unlock": func(v *virtual, l *reentrant.Lock, ctx func(context.Context) context.Context) error {
		must(v.t, l.Lock(asHolder(v.t)))
		must(v.t, l.Lock(asHolder(v.t)))
		return l.Unlock(ctx(asHolder(v.t)))
	},
	"Release": func(v *virtual, l *reentrant.Lock, ctx func(context.Context) context.Context) error {
		hold, err := l.Acquire(v.ctx)
		must(v.t, err)
		return hold.Release(ctx(v.ctx))
	},
	"Release with the hold's ctx": func(v *virtual, l *reentrant.Lock, ctx func(context.Context) context.Context) error {
		hold, err := l.Acquire(v.ctx)
		must(v.t, err)
		return hold.Release(ctx(hold.Context()))
	},
}

// warm has Redis know the scripts of a lock, so that each of its commands is one.
func warm(v *virtual, l *reentrant.Lock) {
	must(v.t, l.Do(v.ctx, func(ctx context.Context) error {
		return l.Do(ctx, func(context.Context) error { return nil })
	}))
}

// A cancellation ends no release, neither before it nor during it, and a deadline only if it is still
// to come.
func TestTimeReleaseWaits(t *testing.T) {
	for what, release := range releases {
		for _, with := range releaseCtxs() {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				l := newClient(t, redistest.MiniClient(t, v.mini, locktest.Impatience(time.Minute)), reentrant.WithLease(time.Hour)).NewLock("job")
				warm(v, l)
				end := make(chan struct{})
				var began time.Time
				err := release(v, l, func(ctx context.Context) context.Context {
					v.onCommand(func(string, []string) string { <-end; return "" }) // silent
					ctx, cancel := with.from(ctx)
					t.Cleanup(cancel)
					began = time.Now()
					return ctx
				})
				wants(t, err, reentrant.ErrUnconfirmed, context.DeadlineExceeded)
				if took := time.Since(began); took != with.waits {
					t.Errorf("%s with %s returned after %v, want %v", what, with.name, took, with.waits)
				}
				close(end)
				v.pass(time.Second)
				if what != "an inner Unlock" && v.mini.Exists("job") {
					t.Errorf("%s with %s: not released in the background", what, with.name)
				}
			})
		}
	}
}

// A release that is answered in time says so, whatever has become of its ctx.
func TestTimeReleaseIsConfirmed(t *testing.T) {
	for what, release := range releases {
		for _, with := range releaseCtxs() {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				l := newClient(t, redistest.MiniClient(t, v.mini, locktest.Impatience(time.Minute)), reentrant.WithLease(time.Hour)).NewLock("job")
				warm(v, l)
				err := release(v, l, func(ctx context.Context) context.Context {
					v.scriptsTake(with.waits - 500*time.Millisecond)
					ctx, cancel := with.from(ctx)
					t.Cleanup(cancel)
					return ctx
				})
				if err != nil || what != "an inner Unlock" && v.mini.Exists("job") {
					t.Errorf("%s with %s: %v, exists %v", what, with.name, err, v.mini.Exists("job"))
				}
				v.scriptsTake(0)
			})
		}
	}
}

// Do's release goes by the same rule.
func TestTimeDoReleasesAfterTheEndOfItsCtx(t *testing.T) {
	for _, with := range releaseCtxs() {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			l := newClient(t, redistest.MiniClient(t, v.mini, locktest.Impatience(time.Minute)), reentrant.WithLease(time.Hour)).NewLock("job")
			ctx, cancel := with.from(v.ctx)
			defer cancel()
			if ctx.Err() != nil { // before the acquisition: there is none
				err := l.Do(ctx, func(context.Context) error { t.Error("called"); return nil })
				wants(t, err, reentrant.ErrNotAcquired)
				return
			}
			end := make(chan struct{})
			began := time.Now()
			err := l.Do(ctx, func(context.Context) error {
				v.onCommand(func(string, []string) string { <-end; return "" })
				return nil
			})
			wants(t, err, reentrant.ErrUnconfirmed)
			if took := time.Since(began); took != with.waits {
				t.Errorf("with %s: returned after %v, want %v", with.name, took, with.waits)
			}
			close(end)
			v.pass(time.Second)
		})
	}
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		ctx, cancel := context.WithCancel(v.ctx)
		err := v.client().NewLock("job").Do(ctx, func(ctx context.Context) error { cancel(); return ctx.Err() })
		if wants(t, err, context.Canceled); errors.Is(err, reentrant.ErrUnconfirmed) || v.mini.Exists("job") {
			t.Errorf("%v, exists %v", err, v.mini.Exists("job"))
		}
	})
}
