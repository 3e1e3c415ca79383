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

// trusted is how long a hold of that lease may be trusted: less 1 % and 2 ms.
func trusted(lease time.Duration) time.Duration { return lease - lease/100 - 2*time.Millisecond }

// A fixed lease is never renewed, however it was asked for: it is lost for the
// holder a little before the key is gone, and the key goes when it was said to.
func TestTimeFixedLeaseEnds(t *testing.T) {
	const fixed = 3 * lease // longer than the Client's own, which must not show
	for how, take := range map[string]func(v *virtual, l *reentrant.Lock) error{
		"LockLease": func(v *virtual, l *reentrant.Lock) error { return l.LockLease(v.ctx, fixed) },
		"TryLock at once": func(v *virtual, l *reentrant.Lock) error {
			return locktest.Tried(l.TryLock(v.ctx, 0, fixed))
		},
		"TryLock": func(v *virtual, l *reentrant.Lock) error {
			return locktest.Tried(l.TryLock(v.ctx, time.Minute, fixed))
		},
		"Acquire": func(v *virtual, l *reentrant.Lock) error {
			_, err := l.Acquire(v.ctx, reentrant.WithFixedLease(fixed))
			return err
		},
	} {
		t.Run(how, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				var lost []reentrant.Event
				var lostAt time.Time
				c := v.client(reentrant.WithEvents(reentrant.Events{
					Lost: func(e reentrant.Event) { lost, lostAt = append(lost, e), time.Now() },
				}))
				l := c.NewLock("job")
				began := time.Now()
				must(t, take(v, l))
				if left := v.ttl("job"); left != fixed {
					t.Fatalf("TTL %v at the start, want %v", left, fixed)
				}
				v.pass(fixed - time.Millisecond)
				if len(lost) != 1 || lostAt.Sub(began) != trusted(fixed) {
					t.Fatalf("lost %d times, after %v, want once after %v", len(lost), lostAt.Sub(began), trusted(fixed))
				}
				if left := v.ttl("job"); left != time.Millisecond {
					t.Fatalf("TTL %v at the last millisecond", left)
				}
				v.pass(time.Millisecond)
				if v.mini.Exists("job") {
					t.Fatal("still there after the lease")
				}
				var why *reentrant.LostError
				if !errors.As(lost[0].Err, &why) || why.Reason != reentrant.LeaseEnded || why.Held != trusted(fixed) {
					t.Fatalf("lost because of %#v", lost[0].Err)
				}
				if s := c.Stats(); s.Renewals != 0 || s.Losses != 1 || s.Held != 0 {
					t.Fatalf("stats %+v", s)
				}
				if err := l.Unlock(v.ctx); !errors.Is(err, reentrant.ErrLost) {
					t.Fatalf("Unlock: %v, want ErrLost", err)
				}
				if err := l.Unlock(v.ctx); how != "Acquire" && !errors.Is(err, reentrant.ErrNotHeld) {
					t.Fatalf("second Unlock: %v, want ErrNotHeld", err)
				}
			})
		})
	}
}

// Whoever works under the hold's ctx is told at ValidUntil: not later, when
// another may hold the lock, and not earlier.
func TestTimeLossEndsTheHoldsContext(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client().NewLock("job")
		began := time.Now()
		h, err := l.Acquire(v.ctx, reentrant.WithFixedLease(lease))
		must(t, err)
		if got := h.ValidUntil().Sub(began); got != trusted(lease) {
			t.Fatalf("valid for %v, want %v", got, trusted(lease))
		}
		v.pass(trusted(lease) - time.Nanosecond)
		if h.Context().Err() != nil || ended(h.Lost()) {
			t.Fatal("lost too early")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if !errors.Is(h.Context().Err(), context.Canceled) || !ended(h.Lost()) {
			t.Fatal("not told at ValidUntil")
		}
		if cause := context.Cause(h.Context()); !errors.Is(cause, reentrant.ErrLost) {
			t.Fatalf("ctx ended because of %v", cause)
		}
		if err := h.Release(v.ctx); !errors.Is(err, reentrant.ErrLost) {
			t.Fatalf("Release: %v, want ErrLost", err)
		}
		if err := h.Release(v.ctx); !errors.Is(err, reentrant.ErrNotHeld) {
			t.Fatalf("second Release: %v, want ErrNotHeld", err)
		}
		if got := h.ValidUntil().Sub(began); got != trusted(lease) {
			t.Fatalf("ValidUntil moved to %v after the loss", got)
		}
	})
}

// A release is no loss: nobody is to be alarmed.
func TestTimeReleaseIsNoLoss(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		h, err := c.NewLock("job").Acquire(v.ctx)
		must(t, err)
		lost := h.Lost()
		v.pass(3 * lease)
		must(t, h.Release(v.ctx))
		v.pass(time.Minute)
		if ended(lost) || c.Stats().Losses != 0 {
			t.Fatal("a released hold counts as lost")
		}
		if cause := context.Cause(h.Context()); !errors.Is(cause, reentrant.ErrReleased) {
			t.Fatalf("ctx ended because of %v", cause)
		}
	})
}
