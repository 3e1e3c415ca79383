package reentrant_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/reentrant"
)

func TestFault44CloseEndsWaitersAtOnce(t *testing.T) {
	locktest.Each(t, locktest.Renewed(locktest.AllKinds...), func(t *testing.T, k locktest.Kind) {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			must(t, k.Held(v.client(), "job").Lock(v.ctx)) // of another process
			c := v.client()
			l := k.Rival(c, "job")
			var waiters []*pending
			for _, wait := range []func() error{
				func() error { return l.Lock(v.ctx) },
				func() error { return l.Lock(v.ctx) },
				func() error { return locktest.Tried(l.TryLock(v.ctx, time.Hour, 0)) },
				func() error { _, err := l.Acquire(v.ctx); return err },
				func() error { return l.Do(v.ctx, func(context.Context) error { return nil }) },
			} {
				waiters = append(waiters, begin(wait))
			}
			v.pass(time.Second)
			if got := c.Stats().Waiting; got != len(waiters) {
				t.Fatalf("%d calls wait, want %d", got, len(waiters))
			}
			closed := time.Now()
			must(t, c.Close(v.ctx))
			if time.Since(closed) != 0 {
				t.Fatalf("Close took %v with nothing held", time.Since(closed))
			}
			for i, w := range waiters {
				if err := w.wait(); !errors.Is(err, reentrant.ErrClosed) || !w.at.Equal(closed) {
					t.Fatalf("waiter %d: %v, %v after Close", i, err, w.at.Sub(closed))
				}
			}
			synctest.Wait() // the server has noticed
			if n := len(v.mini.PubSubChannels("*")); n != 0 {
				t.Fatalf("%d channels are still subscribed", n)
			}
			for _, key := range []string{"redlatch_waiters:{job}", "redlatch_waiters:{job}:readers", "redisson_lock_queue:{job}", "redisson_lock_timeout:{job}"} {
				if v.mini.Exists(key) {
					t.Fatalf("still registered as a waiter: %s", key)
				}
			}
		})
	})
}

// Close waits for holders, who go on as before: renewed, and free to re-enter and to
// unlock. Whoever holds nothing gets nothing any more.
func TestFault44CloseLetsHoldersFinish(t *testing.T) {
	locktest.Each(t, locktest.Renewed(locktest.AllKinds...), func(t *testing.T, k locktest.Kind) {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			c := v.client()
			l := k.Held(c, "job")
			h, err := l.Acquire(v.ctx)
			must(t, err)
			closing := begin(func() error { return c.Close(v.ctx) })
			v.pass(10 * lease)
			if closing.over() || ended(h.Lost()) || h.Context().Err() != nil || v.ttl("job") < lease/2 {
				t.Fatalf("the holder was not left alone: %v left", v.ttl("job"))
			}
			must(t, l.Lock(v.ctx)) // re-entry
			must(t, l.Unlock(v.ctx))
			for _, name := range []string{"job", "another"} {
				elsewhere(func() {
					if err := k.Rival(c, name).Lock(v.ctx); !errors.Is(err, reentrant.ErrClosed) {
						t.Errorf("Lock of %s during the drain: %v, want ErrClosed", name, err)
					}
				})
			}
			released := time.Now()
			must(t, h.Release(v.ctx))
			if err := closing.wait(); err != nil || !closing.at.Equal(released) {
				t.Fatalf("Close: %v, %v after the last release", err, closing.at.Sub(released))
			}
			if v.mini.Exists("job") {
				t.Fatal("not released in Redis")
			}
		})
	})
}

// The ctx of Close ends with a lock held: its holder is told, nothing renews it any
// more, and Redis frees it within a lease.
func TestFault44CloseGivesUpOnHolders(t *testing.T) {
	locktest.Each(t, locktest.Renewed(locktest.AllKinds...), func(t *testing.T, k locktest.Kind) {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			c := v.client()
			l := k.Held(c, "job")
			h, err := l.Acquire(v.ctx)
			must(t, err)
			lost := h.Lost()
			ctx, cancel := context.WithTimeout(v.ctx, 5*time.Second)
			defer cancel()
			began := time.Now()
			if err := c.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("Close: %v, want DeadlineExceeded", err)
			}
			if got := time.Since(began); got != 5*time.Second {
				t.Fatalf("Close took %v", got)
			}
			if cause := context.Cause(h.Context()); !errors.Is(cause, reentrant.ErrClosed) || !ended(lost) {
				t.Fatalf("the holder's ctx ended because of %v, lost %v", cause, ended(lost))
			}
			if st := c.Stats(); st.Held != 0 || ourGoroutines() != 0 {
				t.Fatalf("%d goroutines are left, stats %+v", ourGoroutines(), st)
			}
			v.scripts()
			if left := v.ttl("job"); left > lease {
				t.Fatalf("%v are left", left)
			}
			v.pass(lease)
			if n := v.scripts(); n != 0 || v.mini.Exists("job") {
				t.Fatalf("%d scripts sent after Close", n)
			}
			if err := l.Unlock(v.ctx); !errors.Is(err, reentrant.ErrClosed) {
				t.Fatalf("Unlock: %v, want ErrClosed", err)
			}
			if err := h.Release(v.ctx); !errors.Is(err, reentrant.ErrClosed) {
				t.Fatalf("Release: %v, want ErrClosed", err)
			}
			must(t, c.Close(v.ctx)) // again: nothing is left to wait for
		})
	})
}

func TestFault44EverythingAnswersErrClosed(t *testing.T) {
	locktest.Each(t, locktest.Renewed(locktest.AllKinds...), func(t *testing.T, k locktest.Kind) {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			c := v.client()
			l := k.Held(c, "job")
			must(t, l.Lock(v.ctx))
			must(t, l.Unlock(v.ctx))
			must(t, c.Close(v.ctx))
			must(t, c.Close(v.ctx))
			v.scripts()
			for what, call := range map[string]func() error{
				"Lock":        func() error { return l.Lock(v.ctx) },
				"LockLease":   func() error { return l.LockLease(v.ctx, lease) },
				"TryLock":     func() error { _, err := l.TryLock(v.ctx, 0, 0); return err },
				"Acquire":     func() error { _, err := l.Acquire(v.ctx); return err },
				"Do":          func() error { return l.Do(v.ctx, func(context.Context) error { return nil }) },
				"Unlock":      func() error { return l.Unlock(v.ctx) },
				"ForceUnlock": func() error { _, err := l.ForceUnlock(v.ctx); return err },
				"IsLocked":    func() error { _, err := l.IsLocked(v.ctx); return err },
				"IsHeld":      func() error { _, err := l.IsHeld(v.ctx); return err },
				"HoldCount":   func() error { _, err := l.HoldCount(v.ctx); return err },
				"TTL":         func() error { _, err := l.TTL(v.ctx); return err },
				"a new Lock":  func() error { return c.NewLock("another").Lock(v.ctx) },
			} {
				if err := call(); !errors.Is(err, reentrant.ErrClosed) {
					t.Errorf("%s: %v, want ErrClosed", what, err)
				}
			}
			if n := v.scripts(); n != 0 {
				t.Fatalf("%d scripts sent after Close", n)
			}
		})
	})
}

// Two Closes at once both wait for the same end.
func TestFault44CloseTwiceAtOnce(t *testing.T) {
	locktest.Each(t, locktest.Renewed(locktest.AllKinds...), func(t *testing.T, k locktest.Kind) {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			c := v.client()
			l := k.Held(c, "job")
			must(t, l.Lock(v.ctx))
			first := begin(func() error { return c.Close(v.ctx) })
			second := begin(func() error { return c.Close(v.ctx) })
			v.pass(time.Minute)
			if first.over() || second.over() {
				t.Fatal("Close did not wait for the holder")
			}
			must(t, l.Unlock(v.ctx))
			must(t, first.wait())
			must(t, second.wait())
		})
	})
}
