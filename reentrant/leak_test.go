package reentrant_test

import (
	"context"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

const leaked = "WARN redlatch: a hold was dropped and not released, the lock stays taken"

// dropped takes a lock and keeps nothing of the hold but its ctx.
//
//go:noinline
func dropped(t *testing.T, l *reentrant.Lock, name string, opts ...reentrant.AcquireOption) context.Context {
	hold, err := l.Acquire(owner(t.Context(), name), opts...)
	must(t, err)
	return hold.Context()
}

// cleanedUp waits until the runtime has cleaned up what was garbage at the call.
func cleanedUp(t *testing.T) {
	t.Helper()
	done := make(chan struct{})
	runtime.AddCleanup(new([64]byte), func(done chan struct{}) { close(done) }, done)
	redistest.Eventually(t, 5*time.Second, "garbage is collected", func() bool {
		runtime.GC()
		return ended(done)
	})
}

// A hold that nobody can release any more is told of once, and goes on.
func TestLeakedHoldIsLogged(t *testing.T) {
	_, rdb := redistest.Mini(t)
	n := newNotebook(slog.LevelInfo)
	c := newClient(t, rdb, reentrant.WithLogger(slog.New(n)))
	ctx := dropped(t, c.NewLock("l"), "me")
	var last slog.Record
	redistest.Eventually(t, 5*time.Second, "it is told", func() bool {
		runtime.GC()
		lines, r := n.take()
		last = r
		return len(lines) == 1 && lines[0] == leaked
	})
	acquired, _ := attrs(last)["acquired"].(time.Time)
	if a := attrs(last); a["lock"] != "l" || a["owner"] != c.ID()+":me" || time.Since(acquired) > time.Minute {
		t.Errorf("attributes %v", a)
	}
	if ctx.Err() != nil || c.Stats().Held != 1 {
		t.Errorf("the hold has ended: %v", context.Cause(ctx))
	}
	for range 3 {
		runtime.GC()
	}
	if lines, _ := n.take(); lines != nil {
		t.Errorf("logged %q", lines)
	}
	_, err := c.NewLock("l").ForceUnlock(t.Context())
	must(t, err)
}

// What was released, will be, or ends by itself is no leak.
func TestHoldsThatAreNotLeaked(t *testing.T) {
	_, rdb := redistest.Mini(t)
	n := newNotebook(slog.LevelInfo)
	c := newClient(t, rdb, reentrant.WithLogger(slog.New(n)))
	ctx := owner(t.Context(), "me")
	quiet := func(what string) {
		t.Helper()
		for range 2 { // what was garbage before has been cleaned up when the second has
			cleanedUp(t)
		}
		if lines, _ := n.take(); lines != nil {
			t.Errorf("%s: logged %q", what, lines)
		}
	}
	func() {
		hold, err := c.NewLock("released").Acquire(ctx)
		must(t, err)
		must(t, hold.Release(ctx))
	}()
	quiet("released")
	dropped(t, c.NewLock("fixed"), "me", reentrant.WithFixedLease(time.Minute))
	quiet("fixed")
	must(t, c.NewLock("done").Do(ctx, func(context.Context) error {
		quiet("in Do")
		return nil
	}))
	must(t, c.NewLock("locked").Lock(ctx))
	quiet("Lock")
	must(t, c.NewLock("locked").Unlock(ctx))
	l, err := multilock.New(c.NewLock("a"), c.NewLock("b"))
	must(t, err)
	must(t, l.Lock(ctx))
	quiet("MultiLock")
	for _, name := range []string{"a", "b", "fixed"} { // an Unlock ends no hold of Acquire
		_, err = c.NewLock(name).ForceUnlock(ctx)
		must(t, err)
	}
}
