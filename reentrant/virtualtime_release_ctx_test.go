package reentrant_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// A release ends the ctx of its hold. One made from that with a deadline keeps its deadline.
func TestTimeReleaseUntilTheDeadlineOfACtxFromTheHold(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		hold, err := v.client(reentrant.WithLease(time.Minute)).NewLock("job").Acquire(v.ctx)
		must(t, err)
		v.scriptsTake(4 * time.Second)
		const limit = 100 * time.Millisecond
		ctx, cancel := context.WithTimeout(hold.Context(), limit)
		defer cancel()
		began := time.Now()
		wants(t, hold.Release(ctx), reentrant.ErrUnconfirmed)
		if d := time.Since(began); d != limit {
			t.Errorf("returned after %v", d)
		}
	})
}

// An Unlock comes while the last hold is on its way to be released: it is for what the owner has lost
// earlier. A second Release is for nothing.
func TestTimeUnlockDuringARelease(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l, ctx := v.client().NewLock("job"), asHolder(t)
		must(t, l.LockLease(ctx, lease))
		v.pass(lease) // lost, and not unlocked
		hold, err := l.Acquire(ctx)
		must(t, err)
		v.scriptsTake(lease / 5)
		release := begin(func() error { return hold.Release(v.ctx) })
		v.pass(lease / 20)
		wants(t, hold.Release(v.ctx), reentrant.ErrNotHeld)
		wants(t, l.Unlock(ctx), reentrant.ErrLost)
		must(t, release.wait())
		wants(t, l.Unlock(ctx), reentrant.ErrNotHeld)
	})
}

// The lock is granted before the limit of the wait, and an event function keeps the call beyond
// it: Redis has answered, and the call has the lock.
func TestTimeGrantedBeforeTheLimit(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client(reentrant.WithEvents(reentrant.Events{
			Acquired: func(reentrant.Event) { time.Sleep(lease / 5) },
		})).NewLock("job")
		ok, err := l.TryLock(v.ctx, lease/10, 0)
		if !ok || err != nil {
			t.Errorf("TryLock: %v, %v", ok, err)
		}
		must(t, l.Unlock(v.ctx))
	})
}
