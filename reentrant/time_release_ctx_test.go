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

// Unlock is under way when the hold is released as a value too. What the owner lost earlier is
// owed to another Unlock.
func TestTimeReleaseDuringAnUnlock(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l, ctx := v.client().NewLock("job"), asHolder(t)
		must(t, l.Lock(ctx))
		v.mini.Del("job")
		v.pass(lease) // lost, and not unlocked
		hold, err := l.Acquire(ctx)
		must(t, err)
		v.scriptsTake(lease / 5)
		unlock := begin(func() error { return l.Unlock(ctx) })
		v.pass(lease / 20)
		wants(t, hold.Release(v.ctx), reentrant.ErrNotHeld)
		must(t, unlock.wait())
		wants(t, l.Unlock(ctx), reentrant.ErrLost)
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
