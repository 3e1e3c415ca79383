package reentrant_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// A force arrives when the lock has gone from one owner of the Client to the next. It is the
// next one that it robs, and that is told.
func TestTimeForceDuringAHandoff(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client(reentrant.WithLease(time.Minute)).NewLock("job")
		_, err := l.ForceUnlock(v.ctx) // the script is known from now on
		must(t, err)
		a, b := reentrant.WithOwner(v.ctx, "a"), reentrant.WithOwner(v.ctx, "b")
		must(t, l.Lock(a))
		var hold *reentrant.Hold
		waiter := begin(func() (err error) { hold, err = l.Acquire(b); return err })
		v.pass(time.Millisecond)
		v.onScript("4", "turn", func() string { time.Sleep(100 * time.Millisecond); return "" })
		force := begin(func() error { _, err := l.ForceUnlock(v.ctx); return err })
		v.pass(10 * time.Millisecond)
		_ = l.Unlock(a) // perhaps it has been robbed
		must(t, force.wait())
		must(t, waiter.wait())
		v.pass(time.Second)
		if free := v.fields("job") == nil; free != ended(hold.Lost()) {
			t.Errorf("free: %v, the holder was told: %v", free, ended(hold.Lost()))
		}
	})
}
