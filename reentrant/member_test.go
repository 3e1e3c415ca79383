package reentrant_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/multi"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/scope"
	"github.com/redlatch/redlatch/reentrant"
)

// What an owner does through other goroutines is its own doing.
func TestBindOwner(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		l := c.NewLock("a")
		must(t, l.Lock(v.ctx))
		none := func(scope.Scope) (string, bool) { return "", false }
		bound, owner, err := scope.BindOwner(v.ctx, none)
		must(t, err)
		again, same, err := scope.BindOwner(bound, none)
		must(t, err)
		if owner != same || strings.Trim(owner, "0123456789") != "" {
			t.Errorf("owners are %q and %q", owner, same)
		}
		elsewhere(func() {
			must(t, l.Lock(bound))
			must(t, l.Unlock(again))
			if ok, err := l.TryLock(v.ctx, 0, 0); ok || err != nil {
				t.Errorf("another goroutine got %v, %v", ok, err)
			}
		})
		must(t, l.Unlock(v.ctx))

		_, owner, err = scope.BindOwner(reentrant.WithOwner(v.ctx, "42"), none)
		if owner != "=42" || err != nil {
			t.Errorf("owner is %q, %v", owner, err)
		}
		_, _, err = scope.BindOwner(reentrant.WithOwner(v.ctx, ""), none)
		if !errors.Is(err, reentrant.ErrInvalidOwner) {
			t.Errorf("error is %v", err)
		}
	})
}

// A member's tenure does not end with the ctx of the call that took it.
func TestMemberTake(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client(reentrant.WithPrefix("p:"))
		m := c.NewLock("a", reentrant.WithFencing()).Member()
		parts := m.Parts()
		if len(parts) != 1 || parts[0].Key != "p:a" || parts[0].Client != c.ID() || parts[0].Server == "" || m.Lease() != lease {
			t.Errorf("parts are %+v", parts)
		}
		ctx, cancel := context.WithCancel(reentrant.WithOwner(v.ctx, "me"))
		tenure, err := m.Take(ctx, multi.Terms{})
		must(t, err)
		cancel()
		v.pass(5 * lease)
		if err := tenure.Context().Err(); err != nil {
			t.Fatalf("ended: %v", err)
		}
		if owners := tenure.Owners(); len(owners) != 1 || owners[0] != c.ID()+":me" || tenure.Tokens()[0] == 0 {
			t.Errorf("owners are %v, tokens %v", owners, tenure.Tokens())
		}

		other := v.client(reentrant.WithPrefix("p:")).NewLock("a").Member()
		_, err = other.Take(v.ctx, multi.Terms{Limited: true})
		var busy *reentrant.NotAcquiredError
		if !errors.As(err, &busy) || !busy.Busy || !errors.Is(err, reentrant.ErrBusy) {
			t.Errorf("error is %v", err)
		}
		ctx, cancel = context.WithCancel(v.ctx)
		waiting := begin(func() error { _, err := other.Take(ctx, multi.Terms{}); return err })
		v.pass(lease)
		cancelled := time.Now()
		cancel()
		if err := waiting.wait(); !errors.Is(err, context.Canceled) || !errors.Is(err, reentrant.ErrNotAcquired) || waiting.at != cancelled {
			t.Errorf("error is %v after %v", err, waiting.at.Sub(cancelled))
		}
		if errors.Is(waiting.wait(), reentrant.ErrBusy) {
			t.Error("a call that was cancelled did not end because the lock was busy")
		}

		must(t, tenure.Release(v.ctx))
		if cause := context.Cause(tenure.Context()); !errors.Is(cause, reentrant.ErrReleased) {
			t.Errorf("cause is %v", cause)
		}
		tenure, err = other.Take(v.ctx, multi.Terms{Lease: 3 * lease})
		must(t, err)
		v.pass(3 * lease)
		if cause := context.Cause(tenure.Context()); !errors.Is(cause, reentrant.ErrLost) {
			t.Errorf("cause is %v", cause)
		}
		if err := tenure.Release(v.ctx); !errors.Is(err, reentrant.ErrLost) {
			t.Errorf("error is %v", err)
		}
	})
}

func TestTerms(t *testing.T) {
	var terms multi.Terms
	for _, opt := range []reentrant.AcquireOption{reentrant.WithWait(time.Second), reentrant.WithFixedLease(time.Minute)} {
		must(t, opt(&terms))
	}
	if want := (multi.Terms{Limited: true, Wait: time.Second, Lease: time.Minute}); terms != want {
		t.Errorf("got %+v", terms)
	}
	if err := reentrant.WithFixedLease(0)(&terms); !errors.Is(err, reentrant.ErrInvalidLease) {
		t.Errorf("got %v", err)
	}
}

// A server says who it is, and is another one after a restart.
func TestMemberServers(t *testing.T) {
	s := redistest.Start(t)
	c := newClient(t, s.Client(t))
	m := c.NewLock("a").Member()
	before, err := m.Servers(t.Context())
	must(t, err)
	if len(before) != 1 || before[0].RunID != s.Info(t, "server", "run_id") {
		t.Errorf("got %+v", before)
	}
	s.Restart()
	after, err := m.Servers(t.Context())
	must(t, err)
	if after[0].RunID == before[0].RunID || after[0].Uptime > 10*time.Second {
		t.Errorf("got %+v after %+v", after, before)
	}
	s.Stop()
	for range 6 { // more than may be in flight
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if _, err = m.Servers(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
		cancel()
	}
	s.Continue()
	_, err = m.Servers(t.Context())
	must(t, err)
}
