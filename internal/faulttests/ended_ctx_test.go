package faulttests

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/reentrant"
)

// A ctx that has ended is no reason to send anything, nor to make a connection: not
// for a lock, not for a question, and not for an operator's ForceUnlock.
func TestFault40EndedContextSendsNothing(t *testing.T) {
	t.Parallel()
	locktest.Each(t, locktest.Renewed(locktest.AllKinds...), endedContextSendsNothing)
}

func endedContextSendsNothing(t *testing.T, k locktest.Kind) {
	r := newFaultRig(t)
	anything := r.proxy.Add(faultproxy.Rule{}) // counts, and does nothing
	const rounds = 50                          // a command that races with the call's end is not sent each time
	c := faultClient(t, r.through(t))
	l := k.Held(c, "l")

	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(locktest.ErrGivenUp)
	expired, cancelExpired := context.WithDeadline(t.Context(), time.Now().Add(-time.Hour))
	defer cancelExpired()
	zero, cancelZero := context.WithTimeout(t.Context(), 0)
	defer cancelZero()
	for _, test := range []struct {
		ctx   context.Context
		cause error
	}{{cancelled, locktest.ErrGivenUp}, {expired, context.DeadlineExceeded}, {zero, context.DeadlineExceeded}} {
		ctx := test.ctx
		for what, call := range map[string]func() error{
			"Lock":      func() error { return l.Lock(ctx) },
			"LockLease": func() error { return l.LockLease(ctx, time.Minute) },
			"TryLock 0": func() error { return locktest.Tried(l.TryLock(ctx, 0, 0)) },
			"TryLock":   func() error { return locktest.Tried(l.TryLock(ctx, time.Second, 0)) },
			"Acquire":   func() error { _, err := l.Acquire(ctx); return err },
			"Do":        func() error { return l.Do(ctx, func(context.Context) error { t.Error("fn was called"); return nil }) },
		} {
			for range rounds {
				if err := call(); err == nil {
					t.Errorf("%s: no error", what)
				} else {
					wants(t, err, reentrant.ErrNotAcquired, test.cause)
				}
			}
		}
		for what, call := range map[string]func() error{
			"IsLocked":    func() error { _, err := l.IsLocked(ctx); return err },
			"IsHeld":      func() error { _, err := l.IsHeld(ctx); return err },
			"HoldCount":   func() error { _, err := l.HoldCount(ctx); return err },
			"TTL":         func() error { _, err := l.TTL(ctx); return err },
			"ForceUnlock": func() error { _, err := l.ForceUnlock(ctx); return err },
		} {
			for range rounds {
				if err := call(); err == nil {
					t.Errorf("%s: no error", what)
				} else {
					wants(t, err, test.cause)
				}
			}
		}
	}
	locktest.CloseQuickly(t, c) // waits for what is under way, should there be anything
	if n := anything.Hits(); n > 0 {
		t.Errorf("%d commands were sent", n)
	}

	// Nor is a hold entered again.
	l = faultClient(t, r.through(t)).NewLock("l")
	must(t, l.Lock(t.Context()))
	_, err := l.HoldCount(t.Context()) // so that Redis knows the script
	must(t, err)
	sent := anything.Hits()
	if sent == 0 {
		t.Error("the command of a lock was not counted: the test is blind")
	}
	for range rounds {
		wants(t, l.Lock(cancelled), reentrant.ErrNotAcquired, locktest.ErrGivenUp)
	}
	if n, err := l.HoldCount(t.Context()); n != 1 || err != nil { // and a command that was sent would be before this one
		t.Errorf("held %d times, %v", n, err)
	}
	if n := anything.Hits() - sent; n != 1 { // that question
		t.Errorf("%d commands were sent by a holder, want 1", n)
	}

	// Unlock is another matter: the lock must not be kept because of it.
	must(t, l.Unlock(cancelled))
	locktest.TidyWithin(t, r.Server, 3*time.Second, "l")
}
