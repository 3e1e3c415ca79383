package reentrant_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/reentrant"
)

// A command of another call is under way and is not answered, at the limit of a wait. That somebody
// has the lock is not known then: it is on its way to the next, or was freed.
func TestTimeSilentHandoffIsNotBusy(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client(reentrant.WithLease(time.Minute)).NewLock("l")
		o := reentrant.WithOwner(v.ctx, "o")
		must(t, l.Lock(o))
		call := begin(func() error {
			ok, err := l.TryLock(reentrant.WithOwner(v.ctx, "p"), 4*time.Second, 0)
			if ok {
				t.Error("granted")
			}
			return err
		})
		v.pass(100 * time.Millisecond)
		v.scriptsTake(time.Hour)
		rel := begin(func() error { return l.Unlock(o) })
		if err := call.wait(); !errors.Is(err, reentrant.ErrNotAcquired) {
			t.Errorf("%v, as if somebody had the lock", err)
		}
		v.onCommand(nil)
		wants(t, rel.wait(), reentrant.ErrUnconfirmed)
	})
}

func TestTimeSilentReleaseIsNotBusy(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client(reentrant.WithLease(time.Minute)).NewLock("l")
		o := asHolder(t)
		must(t, l.Lock(o))
		v.scriptsTake(time.Hour)
		rel := begin(func() error { return l.Unlock(o) })
		v.pass(10 * time.Millisecond)
		ok, err := l.TryLock(locktest.AsWaiter(t), 3*time.Second, 0)
		if ok || !errors.Is(err, reentrant.ErrNotAcquired) {
			t.Errorf("%v, %v, as if somebody had the lock", ok, err)
		}
		v.onCommand(nil)
		wants(t, rel.wait(), reentrant.ErrUnconfirmed)
	})
}

func TestTimeSilentForceIsNotBusy(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		must(t, v.client().NewLock("l").LockLease(v.ctx, time.Hour))
		l := v.client(reentrant.WithLease(time.Minute)).NewLock("l")
		call := begin(func() error {
			ok, err := l.TryLock(reentrant.WithOwner(v.ctx, "p"), 4*time.Second, 0)
			if ok {
				t.Error("granted")
			}
			return err
		})
		v.pass(200 * time.Millisecond)
		v.scriptsTake(time.Hour)
		force := begin(func() error { _, err := l.ForceUnlock(v.ctx); return err })
		if err := call.wait(); !errors.Is(err, reentrant.ErrNotAcquired) {
			t.Errorf("%v, as if somebody had the lock", err)
		}
		v.onCommand(nil)
		if err := force.wait(); err == nil {
			t.Error("ForceUnlock says that it was answered")
		}
	})
}
