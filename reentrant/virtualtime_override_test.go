package reentrant_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// Redis forgets the lock: a restart without persistence, FLUSHALL, an eviction. The
// holder learns it at its next renewal.
func TestTimeForgottenLockIsLostAtTheNextRenewal(t *testing.T) {
	for _, age := range []time.Duration{0, 100 * time.Millisecond, 333 * time.Millisecond, 2500 * time.Millisecond} {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			var lost reentrant.Event
			c := v.client(reentrant.WithEvents(reentrant.Events{Lost: func(e reentrant.Event) { lost = e }}))
			l := c.NewLock("job")
			h, err := l.Acquire(v.ctx)
			must(t, err)
			v.pass(age)
			v.mini.FlushAll()
			forgot := time.Now()
			<-h.Lost()
			if got := time.Since(forgot); got > lease/3 {
				t.Fatalf("lost after %v, want the next renewal, within %v", got, lease/3)
			}
			var why *reentrant.LostError
			if !errors.As(context.Cause(h.Context()), &why) || why.Reason != reentrant.Overridden || why.Name != "job" || why.Owner != h.Owner() {
				t.Fatalf("ctx ended because of %#v", context.Cause(h.Context()))
			}
			v.pass(0)
			if !errors.As(lost.Err, &why) || lost.Name != "job" || lost.Owner != h.Owner() || lost.Held != time.Since(forgot)+age {
				t.Fatalf("event %+v", lost)
			}
			if err := l.Unlock(v.ctx); !errors.Is(err, reentrant.ErrLost) {
				t.Fatalf("Unlock: %v", err)
			}
			if v.mini.Exists("job") {
				t.Fatal("the lost lock was made anew")
			}
		})
	}
}

// Between the loss and the next renewal, whatever the owner does must not make the
// lock anew behind its back.
func TestTimeForgottenLockAnswersErrLost(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		l := c.NewLock("job")
		must(t, l.Lock(v.ctx))
		v.mini.FlushAll()
		if err := l.Unlock(v.ctx); !errors.Is(err, reentrant.ErrLost) {
			t.Fatalf("Unlock: %v, want ErrLost", err)
		}
		if err := l.Unlock(v.ctx); !errors.Is(err, reentrant.ErrNotHeld) {
			t.Fatalf("second Unlock: %v, want ErrNotHeld", err)
		}

		must(t, l.Lock(v.ctx))
		must(t, l.Lock(v.ctx))
		v.mini.FlushAll()
		for range 2 { // inner and outer
			if err := l.Unlock(v.ctx); !errors.Is(err, reentrant.ErrLost) {
				t.Fatalf("Unlock: %v, want ErrLost", err)
			}
		}
		if err := l.Unlock(v.ctx); !errors.Is(err, reentrant.ErrNotHeld) {
			t.Fatalf("third Unlock: %v, want ErrNotHeld", err)
		}

		must(t, l.Lock(v.ctx))
		v.mini.FlushAll()
		if err := l.Lock(v.ctx); !errors.Is(err, reentrant.ErrLost) {
			t.Fatalf("re-entry: %v, want ErrLost", err)
		}
		if v.mini.Exists("job") {
			t.Fatal("re-entry made the lost lock anew")
		}
		if err := l.Unlock(v.ctx); !errors.Is(err, reentrant.ErrLost) {
			t.Fatalf("Unlock after the re-entry that failed: %v, want ErrLost", err)
		}
		if s := c.Stats(); s.Losses != 3 || s.Held != 0 {
			t.Fatalf("stats %+v", s)
		}
	})
}

// Redisson #3194: after a loss the same thread locks again, and that lock is never
// renewed, because the entry of the lost one is in the way. Whoever has lost a renewed hold has to unlock
// it first; a fixed lease that has run out need not be unlocked.
func TestTimeLockAfreshAfterALoss(t *testing.T) {
	for _, unlockFirst := range []bool{true, false} {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			c := v.client()
			l := c.NewLock("job")
			if unlockFirst {
				must(t, l.Lock(v.ctx))
			} else {
				must(t, l.LockLease(v.ctx, lease))
			}
			v.pass(lease)
			v.mini.FlushAll()
			v.pass(lease)
			if unlockFirst {
				if err := l.Unlock(v.ctx); !errors.Is(err, reentrant.ErrLost) {
					t.Fatalf("Unlock: %v", err)
				}
			}
			must(t, l.Lock(v.ctx))
			for began := time.Now(); time.Since(began) < 10*lease; time.Sleep(50 * time.Millisecond) {
				if v.ttl("job") < lease/2 {
					t.Fatalf("%v are left after %v", v.ttl("job"), time.Since(began))
				}
			}
			must(t, l.Unlock(v.ctx))
			if v.mini.Exists("job") {
				t.Fatal("still there after Unlock")
			}
			want := reentrant.ErrNotHeld
			if !unlockFirst {
				want = reentrant.ErrLost // of the first hold, which is still owed its answer
			}
			if err := l.Unlock(v.ctx); !errors.Is(err, want) {
				t.Fatalf("one more Unlock: %v, want %v", err, want)
			}
		})
	}
}

// Somebody took the lock after it was forgotten: the loser must not touch it.
func TestTimeLoserLeavesTheNextHolderAlone(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		first := v.client().NewLock("job")
		must(t, first.Lock(v.ctx))
		v.mini.FlushAll()
		second := v.client()
		l := second.NewLock("job")
		must(t, l.Lock(v.ctx))
		v.pass(5 * lease)
		if err := first.Unlock(v.ctx); !errors.Is(err, reentrant.ErrLost) {
			t.Fatalf("Unlock of the loser: %v", err)
		}
		v.pass(5 * lease)
		if second.Stats().Losses != 0 || v.ttl("job") < lease/2 {
			t.Fatal("the second holder lost its lock to the first one")
		}
		must(t, l.Unlock(v.ctx))
	})
}
