package redlatchtest

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// A lock that is left fails the test, which is told its name and its owner.
func TestLeftHolds(t *testing.T) {
	for name, take := range map[string]func(t testing.TB, c *reentrant.Client) error{
		"Lock": func(t testing.TB, c *reentrant.Client) error {
			return c.NewLock("order:42").Lock(reentrant.WithOwner(t.Context(), "leaver"))
		},
		"LockLease": func(t testing.TB, c *reentrant.Client) error {
			return c.NewLock("order:42").LockLease(reentrant.WithOwner(t.Context(), "leaver"), time.Hour)
		},
		"inner Lock": func(t testing.TB, c *reentrant.Client) error {
			ctx := reentrant.WithOwner(t.Context(), "leaver")
			l := c.NewLock("order:42")
			must(t, l.Lock(ctx))
			must(t, l.Lock(ctx))
			return l.Unlock(ctx)
		},
		"silence": func(t testing.TB, c *reentrant.Client) error {
			return c.NewLock("order:42").Lock(reentrant.WithOwner(t.Context(), "leaver"))
		},
		"beside one that is kept": func(t testing.TB, c *reentrant.Client) error {
			kept, err := c.NewLock("other").Acquire(t.Context())
			must(t, err)
			must(t, kept.ReleaseAfter(t.Context(), time.Hour))
			return c.NewLock("order:42").Lock(reentrant.WithOwner(t.Context(), "leaver"))
		},
		"fair": func(t testing.TB, c *reentrant.Client) error {
			return c.NewFairLock("order:42").Lock(reentrant.WithOwner(t.Context(), "leaver"))
		},
		"write": func(t testing.TB, c *reentrant.Client) error {
			return c.NewReadWriteLock("order:42").Lock(reentrant.WithOwner(t.Context(), "leaver"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				got := whatIsWrong(t, func(t testing.TB) {
					r := New(t)
					must(t, take(t, r.Client(reentrant.WithPrefix("shop:"))))
					if name == "silence" {
						r.Silence()
					}
				})
				if !strings.Contains(got, `locks are still held: "shop:order:42" (owner leaver`) || strings.Contains(got, "; ") || strings.Contains(got, "other") {
					t.Errorf("the test is told %q", got)
				}
			})
		})
	}
}

// By the wall clock, too.
func TestLeftHold(t *testing.T) {
	t.Parallel()
	got := whatIsWrong(t, func(t testing.TB) { must(t, New(t).Client().NewLock("order:42").Lock(t.Context())) })
	if !strings.Contains(got, `locks are still held: "order:42"`) {
		t.Errorf("the test is told %q", got)
	}
}

// A lock that was released is not left, nor is one that was lost, nor one that ReleaseAfter keeps, nor one that a
// goroutine is about to release. Calls that wait end.
func TestNothingLeft(t *testing.T) {
	for name, play := range map[string]func(t testing.TB, r *Redis) error{
		"released": func(t testing.TB, r *Redis) error {
			return r.Client().NewLock("order:42").Do(t.Context(), func(context.Context) error { return nil })
		},
		"lost": func(t testing.TB, r *Redis) error {
			hold, err := r.Client(brief).NewLock("order:42").Acquire(t.Context())
			must(t, err)
			r.Lose("order:42")
			<-hold.Lost()
			return nil
		},
		"kept": func(t testing.TB, r *Redis) error {
			hold, err := r.Client().NewLock("order:42").Acquire(t.Context())
			must(t, err)
			return hold.ReleaseAfter(t.Context(), time.Hour)
		},
		"being released": func(t testing.TB, r *Redis) error {
			hold, err := r.Client().NewLock("order:42").Acquire(t.Context())
			must(t, err)
			time.AfterFunc(100*time.Millisecond, func() { _ = hold.Release(context.WithoutCancel(t.Context())) })
			return nil
		},
		"being released, and Redis is silent": func(t testing.TB, r *Redis) error {
			hold, err := r.Client().NewLock("order:42").Acquire(t.Context())
			must(t, err)
			r.Silence()
			begun := make(chan struct{})
			go func() {
				close(begun)
				_ = hold.Release(context.WithoutCancel(t.Context()))
			}()
			<-begun
			return nil
		},
		"waits": func(t testing.TB, r *Redis) error {
			r.HoldByAnother("order:42")
			c := r.Client()
			go c.NewLock("order:42").Lock(context.WithoutCancel(t.Context()))
			for c.Stats().Waiting == 0 {
				time.Sleep(time.Millisecond)
			}
			return nil
		},
		"silent": func(_ testing.TB, r *Redis) error {
			r.Client()
			r.Silence()
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T) {
				if got := whatIsWrong(t, func(t testing.TB) { must(t, play(t, New(t))) }); got != "" {
					t.Errorf("the test is told %q", got)
				}
			})
		})
	}
}
