package reentrant_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// A function that panics under the lock, or ends its goroutine, gives the lock back on its
// way out: at once, all of its nested holds, and also when its ctx has ended. The
// panic goes on with the value it had.
func TestFault42PanicUnderTheLock(t *testing.T) {
	boom := errors.New("boom")
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		l := c.NewLock("job")
		ctx, cancel := context.WithCancel(v.ctx)
		for what, fn := range map[string]func(context.Context) error{
			"a panic":         func(context.Context) error { panic(boom) },
			"a runtime error": func(context.Context) error { var none []int; none[len(l.Name())] = 1; return nil },
			"Goexit":          func(context.Context) error { runtime.Goexit(); return nil },
			"a nested panic": func(ctx context.Context) error {
				return l.Do(ctx, func(ctx context.Context) error {
					return l.Do(ctx, func(context.Context) error { panic(boom) })
				})
			},
			"a panic after the end of the ctx": func(context.Context) error { cancel(); panic(boom) },
			"a panic after the loss":           func(context.Context) error { v.mini.Del("job"); panic(boom) },
		} {
			var inner context.Context
			var recovered any
			waiter := (*pending)(nil)
			began := time.Now()
			elsewhere(func() {
				defer func() { recovered = recover() }()
				err := l.Do(ctx, func(ctx context.Context) error {
					inner = ctx
					waiter = begin(func() error { return locktest.Tried(l.TryLock(owner(v.ctx, "next"), time.Minute, 0)) })
					v.pass(lease) // it is renewed meanwhile, and somebody waits
					return fn(ctx)
				})
				t.Errorf("%s: Do returned %v", what, err)
			})
			if err, is := recovered.(error); what == "Goexit" && recovered != nil ||
				what == "a runtime error" && !errors.As(err, new(runtime.Error)) ||
				what != "Goexit" && what != "a runtime error" && (!is || err != boom) {
				t.Errorf("%s: recovered %v", what, recovered)
			}
			must(t, waiter.wait())
			must(t, l.Unlock(owner(v.ctx, "next")))
			if took := waiter.at.Sub(began); took > lease+20*time.Millisecond {
				t.Errorf("%s: the next holder had the lock after %v", what, took)
			}
			if inner.Err() == nil {
				t.Errorf("%s: the hold's ctx goes on", what)
			}
			if v.pass(0); v.mini.Exists("job") || c.Stats().Held != 0 {
				t.Errorf("%s: %v is left, %+v", what, v.fields("job"), c.Stats())
			}
			ctx, cancel = context.WithCancel(v.ctx)
		}
		cancel()
		if s := c.Stats(); s.Losses != 1 { // the one that was taken away
			t.Errorf("stats %+v", s)
		}
	})
}

// The release behind a panic does not keep the panic back for longer than its 5 s, should Redis
// be silent; and the lock is not renewed any more.
func TestFault42PanicWhileRedisIsSilent(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		// A client that waits for an answer for longer than the release may take.
		rdb := redistest.MiniClient(t, v.mini, func(o *redis.Options) { o.ReadTimeout = time.Minute })
		l := newClient(t, rdb, reentrant.WithLease(30*time.Second)).NewLock("job")
		var recovered any
		var panicked time.Time
		silent := make(chan struct{})
		elsewhere(func() {
			defer func() { recovered = recover() }()
			_ = l.Do(v.ctx, func(context.Context) error {
				v.onCommand(func(string, []string) string { <-silent; return "" })
				panicked = time.Now()
				panic("boom")
			})
		})
		if recovered != "boom" || time.Since(panicked) != 5*time.Second {
			t.Errorf("recovered %v after %v", recovered, time.Since(panicked))
		}
		v.onCommand(nil)
		close(silent)
		v.pass(time.Second)
		if v.mini.Exists("job") {
			t.Error("not released when Redis answered again")
		}
	})
}
