package reentrant_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/reentrant"
)

// A goroutine that hangs with the lock must not keep it for as long as its process
// lives.
func TestFault41MaxHold(t *testing.T) {
	locktest.Each(t, locktest.Renewed(locktest.AllKinds...), func(t *testing.T, k locktest.Kind) {
		const most = 3 * lease
		for _, nested := range []bool{false, true} {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				c := v.client(reentrant.WithMaxHold(most))
				l := k.Held(c, "job")
				began := time.Now()
				h, err := l.Acquire(v.ctx)
				must(t, err)
				if nested {
					v.pass(lease)
					must(t, l.Lock(v.ctx)) // does not begin the limit anew
				}
				for time.Since(began) < most {
					time.Sleep(50 * time.Millisecond)
					if v.ttl("job") <= 0 {
						t.Fatalf("gone after %v", time.Since(began))
					}
				}
				if ended(h.Lost()) {
					t.Fatal("lost before the limit")
				}
				v.pass(lease)
				if v.mini.Exists("job") {
					t.Fatalf("%v are left a lease after the limit", v.ttl("job"))
				}
				if !ended(h.Lost()) {
					t.Fatal("the holder was not told")
				}
				var why *reentrant.LostError
				if err := h.Release(v.ctx); !errors.As(err, &why) || why.Reason != reentrant.LeaseEnded {
					t.Fatalf("Release: %v", err)
				}
			})
		}
	})
}

// A new hold has the whole limit again, and a fixed lease is what was asked for,
// also where it is longer than the limit.
func TestFault41MaxHoldIsForOneHold(t *testing.T) {
	locktest.Each(t, locktest.Renewed(locktest.AllKinds...), func(t *testing.T, k locktest.Kind) {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			l := k.Held(v.client(reentrant.WithMaxHold(2*lease)), "job")
			for range 3 {
				must(t, l.Lock(v.ctx))
				v.pass(2*lease - time.Millisecond)
				must(t, l.Unlock(v.ctx))
			}
			must(t, l.LockLease(v.ctx, time.Minute))
			v.pass(time.Minute - time.Second)
			must(t, l.Unlock(v.ctx))
		})
	})
}

// A goroutine ends with the lock held, and nobody is left who could unlock. Without a
// limit the lock stays taken as long as the process lives; with one, whoever waits has it
// a lease after the limit at the latest. That a new goroutine comes does not matter: it is
// another owner.
func TestFault41GoroutineEnds(t *testing.T) {
	locktest.Each(t, locktest.Renewed(locktest.AllKinds...), func(t *testing.T, k locktest.Kind) {
		const most = 3 * lease
		for _, other := range []bool{false, true} {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				c := v.client(reentrant.WithMaxHold(most))
				waiting := c
				if other {
					waiting = v.client()
				}
				for name, limited := range map[string]bool{"limited": true, "unlimited": false} {
					holder := c
					if !limited {
						holder = v.client()
					}
					elsewhere(func() {
						if err := k.Held(holder, name).Lock(v.ctx); err != nil {
							t.Error(err)
						}
					}) // and the goroutine is gone
					died := time.Now()
					elsewhere(func() {
						if err := k.Held(holder, name).Unlock(v.ctx); !errors.Is(err, reentrant.ErrNotHeld) {
							t.Errorf("Unlock by a goroutine that came later: %v", err)
						}
					})
					if !limited {
						v.pass(20 * most)
						if v.ttl(name) < lease/2 {
							t.Fatalf("%v left of a hold without a limit", v.ttl(name))
						}
						freed, err := k.Held(waiting, name).ForceUnlock(v.ctx)
						if !freed || err != nil {
							t.Fatalf("ForceUnlock = %v, %v", freed, err)
						}
						continue
					}
					must(t, locktest.Tried(k.Rival(waiting, name).TryLock(v.ctx, 10*most, 0)))
					if got := time.Since(died); got < most || got > most+lease+5*time.Millisecond {
						t.Errorf("taken over %v after the goroutine had ended", got)
					}
					must(t, k.Rival(waiting, name).Unlock(v.ctx))
					if s := holder.Stats(); s.Losses != 1 || s.Held != 0 {
						t.Errorf("stats %+v", s)
					}
				}
			})
		}
	})
}

// A nested call comes just before the limit, and its command is repeated after it: the one that is
// repeated extends nothing.
func TestFault41MaxHoldAndARepeatedReentry(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		const lease, most = 10 * time.Second, 30 * time.Second
		l := v.client(reentrant.WithLease(lease), reentrant.WithMaxHold(most)).NewLock("job")
		hold, err := l.Acquire(asHolder(t))
		must(t, err)
		began := time.Now()
		v.pass(most - 10*time.Millisecond)
		tries := 0
		v.onScript("2", "epoch", func() string {
			if tries++; tries == 1 {
				time.Sleep(time.Second)
				return loading
			}
			return ""
		})
		must(t, l.Lock(asHolder(t)))
		<-hold.Lost()
		if d := time.Since(began); d > most+lease || tries < 2 {
			t.Errorf("lost after %v, %d tries", d, tries)
		}
	})
}
