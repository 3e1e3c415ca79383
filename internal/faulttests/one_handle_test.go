package faulttests

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// One *Lock is used by many goroutines at once. Each is an owner of its own, whoever made
// the handle; goroutines that share a ctx's owner are one, and are counted. What the lock
// guards is written without any other guard, so the race detector watches as well.
func TestFault47OneHandleManyGoroutines(t *testing.T) {
	t.Parallel()
	for mode, opts := range map[string][]reentrant.Option{"confirmed": nil, "write-behind": {locktest.WriteBehind}} {
		t.Run(mode, func(t *testing.T) { t.Parallel(); oneHandle(t, locktest.Plain, opts) })
	}
	locktest.Each(t, []locktest.Kind{locktest.Write, locktest.Fair}, func(t *testing.T, k locktest.Kind) {
		t.Parallel()
		oneHandle(t, k, nil)
	})
}

func oneHandle(t *testing.T, k locktest.Kind, opts []reentrant.Option) {
	s := redistest.Start(t)
	c := faultClient(t, s.Client(t), opts...)
	l := k.Held(c, "l")
	const goroutines, rounds = 24, 20
	var number, inside int // guarded by the lock
	var group sync.WaitGroup
	for g := range goroutines {
		group.Go(func() {
			for n := range rounds {
				if g%3 == 0 {
					for {
						ok, err := l.TryLock(t.Context(), time.Duration(5+n)*time.Millisecond, 0)
						// A limit of milliseconds may be over before Redis has said anything.
						if err != nil && !errors.Is(err, reentrant.ErrNotAcquired) {
							t.Errorf("TryLock: %v", err)
							return
						}
						if ok {
							break
						}
					}
				} else if err := l.Lock(t.Context()); err != nil {
					t.Errorf("Lock: %v", err)
					return
				}
				if inside++; inside != 1 {
					t.Errorf("%d are inside", inside)
				}
				if g%2 == 0 { // nested, by the same handle
					if err := l.Lock(t.Context()); err != nil {
						t.Errorf("nested: %v", err)
					}
					if err := l.Unlock(t.Context()); err != nil {
						t.Errorf("nested: %v", err)
					}
				}
				number++
				inside--
				if err := l.Unlock(t.Context()); err != nil {
					t.Errorf("Unlock: %v", err)
				}
			}
		})
	}
	group.Wait()
	if number != goroutines*rounds {
		t.Errorf("counted to %d, want %d", number, goroutines*rounds)
	}
	if st := c.Stats(); st.Held != 0 || st.Waiting != 0 || st.Losses != 0 {
		t.Errorf("%+v", st)
	}

	// One owner on many goroutines: all get in, Redis counts them, and the last one
	// that leaves frees it.
	one := owner(t.Context(), "one")
	for range goroutines {
		group.Go(func() {
			if err := l.Lock(one); err != nil {
				t.Errorf("Lock: %v", err)
			}
		})
	}
	group.Wait()
	if n, err := l.HoldCount(one); n != goroutines || err != nil {
		t.Errorf("held %d times, %v", n, err)
	}
	if ok, err := l.TryLock(t.Context(), 0, 0); ok || err != nil {
		t.Errorf("another owner got it: %v, %v", ok, err)
	}
	for range goroutines {
		group.Go(func() {
			if err := l.Unlock(one); err != nil {
				t.Errorf("Unlock: %v", err)
			}
		})
	}
	group.Wait()
	wants(t, l.Unlock(one), reentrant.ErrNotHeld)
	locktest.CloseQuickly(t, c)
	locktest.TidyWithin(t, s, 3*time.Second, "l")
}
