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

// over is a ctx that has ended, as that of a program that got SIGTERM.
func over(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	cancel(locktest.ErrGivenUp)
	return ctx
}

// Close with a ctx that has ended waits for what is on its way to free a lock.
func TestTimeCloseWaitsForReleases(t *testing.T) {
	const slow = 450 * time.Millisecond
	for what, start := range map[string]func(v *virtual, l *reentrant.Lock, slowly func()) *pending{
		"Unlock": func(v *virtual, l *reentrant.Lock, slowly func()) *pending {
			must(v.t, l.Lock(asHolder(v.t)))
			slowly()
			return begin(func() error { return l.Unlock(over(asHolder(v.t))) })
		},
		"Do": func(v *virtual, l *reentrant.Lock, slowly func()) *pending {
			return begin(func() error {
				return l.Do(v.ctx, func(context.Context) error { slowly(); return nil })
			})
		},
		"a call that leaves, and is granted the lock": func(v *virtual, l *reentrant.Lock, slowly func()) *pending {
			v.scriptsTake(slow) // and the release as well
			return begin(func() error { _ = l.Lock(v.ctx); return nil })
		},
		"a waiter that leaves": func(v *virtual, l *reentrant.Lock, slowly func()) *pending {
			other := v.client(reentrant.WithLease(time.Hour)).NewLock("job")
			must(v.t, other.LockLease(asHolder(v.t), 10*time.Second))
			waiter := begin(func() error { _ = l.Lock(v.ctx); return nil })
			v.pass(time.Second)
			slowly()
			return waiter
		},
	} {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			c := newClient(t, redistest.MiniClient(t, v.mini, locktest.Impatience(time.Minute)), reentrant.WithLease(time.Hour))
			warm(v, c.NewLock("job"))
			call := start(v, c.NewLock("job"), func() { v.scriptsTake(slow) })
			v.pass(time.Millisecond) // its command is under way
			began := time.Now()
			err := c.Close(over(v.ctx))
			if took := time.Since(began); err != nil || took > 2*slow { // twice where Redis does not know the script
				t.Errorf("%s: Close: %v after %v", what, err, took)
			}
			must(t, call.wait())
			held := v.fields("job")
			for field := range held {
				if field[:len(c.ID())] == c.ID() {
					t.Errorf("%s: left behind: %v", what, held)
				}
			}
			if v.mini.Exists("redlatch_waiters:{job}") {
				t.Errorf("%s: still registered", what)
			}
			v.scriptsTake(0)
		})
	}
}

// Redis is silent: Close goes on for a second after the end of its ctx and no longer.
func TestTimeCloseDoesNotWaitForASilentRedis(t *testing.T) {
	for _, before := range []bool{false, true} {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			c := newClient(t, redistest.MiniClient(t, v.mini, locktest.Impatience(time.Minute)), reentrant.WithLease(time.Hour))
			l := c.NewLock("job")
			must(t, l.Lock(asHolder(t)))
			end := make(chan struct{})
			v.onCommand(func(string, []string) string { <-end; return "" })
			unlock := begin(func() error { return l.Unlock(over(asHolder(t))) })
			v.pass(time.Millisecond)
			ctx, want := over(v.ctx), time.Second
			if !before {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeoutCause(v.ctx, time.Second, locktest.ErrGivenUp)
				defer cancel()
				want = 2 * time.Second
			}
			began := time.Now()
			wants(t, c.Close(ctx), locktest.ErrGivenUp)
			if took := time.Since(began); took != want {
				t.Errorf("Close took %v, want %v", took, want)
			}
			close(end)
			wants(t, unlock.wait()) // confirmed or not: Redis answers at this very moment
			must(t, c.Close(v.ctx))
		})
	}
}

// A hold that nobody releases is not waited for, and a release that begins meanwhile is.
func TestTimeCloseOverHolds(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client(reentrant.WithLease(time.Hour))
		l := c.NewLock("job")
		must(t, l.Lock(asHolder(t)))
		began := time.Now()
		wants(t, c.Close(over(v.ctx)), locktest.ErrGivenUp)
		if took := time.Since(began); took != 0 {
			t.Errorf("Close took %v", took)
		}
		wants(t, l.Unlock(asHolder(t)), reentrant.ErrClosed)
	})
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := newClient(t, redistest.MiniClient(t, v.mini, locktest.Impatience(time.Minute)), reentrant.WithLease(time.Hour))
		kept, first, second := c.NewLock("kept"), c.NewLock("first"), c.NewLock("second")
		for _, l := range []*reentrant.Lock{kept, first, second} {
			must(t, l.Lock(asHolder(t)))
		}
		warm(v, c.NewLock("job"))
		v.scriptsTake(400 * time.Millisecond)
		one := begin(func() error { return first.Unlock(asHolder(t)) })
		v.pass(time.Millisecond)
		began := time.Now()
		closing := begin(func() error { return c.Close(over(v.ctx)) })
		again := begin(func() error { return c.Close(over(v.ctx)) })
		v.pass(200 * time.Millisecond)
		two := begin(func() error { return second.Unlock(asHolder(t)) })
		must(t, one.wait())
		must(t, two.wait())
		wants(t, errors.Join(closing.wait(), again.wait()), locktest.ErrGivenUp) // the third, of the one that came first
		for _, call := range []*pending{closing, again} {
			if took := call.at.Sub(began); took != 600*time.Millisecond {
				t.Errorf("Close took %v", took)
			}
		}
		if v.mini.Exists("first") || v.mini.Exists("second") || !v.mini.Exists("kept") {
			t.Errorf("%v", v.mini.Keys())
		}
	})
}

// slowCtx keeps a release from its command: that begins with a look at the deadline.
type slowCtx struct{ context.Context }

func (c slowCtx) Deadline() (time.Time, bool) {
	time.Sleep(300 * time.Millisecond)
	return c.Context.Deadline()
}

// Unlock has begun, and has sent nothing yet, when Close comes.
func TestTimeCloseDuringAnUnlockWithoutACommand(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client(reentrant.WithLease(time.Hour))
		l := c.NewLock("job")
		must(t, l.Lock(asHolder(t)))
		unlock := begin(func() error { return l.Unlock(slowCtx{asHolder(t)}) })
		v.pass(time.Millisecond)
		must(t, c.Close(over(v.ctx)))
		v.pass(0)
		if must(t, unlock.wait()); v.mini.Exists("job") {
			t.Error("left behind")
		}
	})
}
