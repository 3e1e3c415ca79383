package reentrant_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// A lock that Redis grants to a call that has left was nobody's: events and Stats tell of those
// who held it, and of nobody else.
func TestTimeEventsOfAGrantThatNobodyTook(t *testing.T) {
	for name, forgotten := range map[string]bool{"given back": false, "forgotten by Redis meanwhile": true} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				j := &journal{}
				c := v.client(j.all())
				l := c.NewLock("job")
				must(t, l.Lock(v.ctx)) // the scripts are known from now on
				must(t, l.Unlock(v.ctx))
				told := j.during(func() {
					n := 0
					v.onCommand(func(cmd string, _ []string) string {
						if cmd == "EVALSHA" {
							time.Sleep(lease / 4)
							if n++; n == 2 && forgotten {
								v.mini.Del("job")
							}
						}
						return ""
					})
					if ok, err := l.TryLock(v.ctx, lease/20, 0); ok || err == nil {
						t.Errorf("TryLock on a silent Redis: %v, %v", ok, err)
					}
					v.pass(lease)
				})
				if s := c.Stats(); len(told) > 0 || s.Acquired != 1 || s.Losses != 0 || s.Held != 0 {
					t.Errorf("%q, %+v", told, s)
				}
			})
		})
	}
}

// A waiter leaves while the lock is on its way to it from a holder that has released it.
func TestTimeEventsOfAHandoffThatNobodyTook(t *testing.T) {
	for name, another := range map[string]bool{"freed then": false, "passed on then": true} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				j := &journal{}
				c := v.client(j.all(), reentrant.WithLease(time.Minute))
				l := c.NewLock("job")
				a, b := reentrant.WithOwner(v.ctx, "a"), reentrant.WithOwner(v.ctx, "b")
				handOver := func() {
					waiter := begin(func() error { return l.Lock(b) })
					v.pass(time.Millisecond)
					must(t, l.Unlock(a))
					must(t, waiter.wait())
					must(t, l.Unlock(b))
				}
				must(t, l.Lock(a))
				handOver() // the scripts are known from now on
				must(t, l.Lock(a))
				want := []string{"waiting w", "released a"}
				told := j.during(func() {
					ctx, cancel := context.WithCancel(reentrant.WithOwner(v.ctx, "w"))
					leaves := begin(func() error { return l.Lock(ctx) })
					v.pass(time.Millisecond)
					stays := begin(func() error {
						if !another {
							return nil
						}
						want = []string{"waiting w", "waiting b", "released a", "acquired b", "released b"}
						if err := l.Lock(b); err != nil {
							return err
						}
						return l.Unlock(b)
					})
					v.pass(time.Millisecond)
					v.scriptsTake(100 * time.Millisecond)
					release := begin(func() error { return l.Unlock(a) })
					v.pass(50 * time.Millisecond)
					cancel()
					wants(t, leaves.wait(), reentrant.ErrNotAcquired)
					must(t, release.wait())
					must(t, stays.wait())
					v.pass(time.Second)
				})
				if s := c.Stats(); !slices.Equal(told, want) || s.HandedOver != 1 || s.Losses != 0 || s.Held != 0 {
					t.Errorf("told %q, want %q; %+v", told, want, s)
				}
			})
		})
	}
}
