package reentrant_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// A full Redis answers questions and refuses to move the field to the holder: what stands in it is
// about another owner, and is no answer to the holder's question about itself.
func TestTimeBehindQueryWhenTheFieldIsNotMoved(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client(reentrant.WithHandoff(reentrant.WriteBehind), reentrant.WithLease(time.Minute)).NewLock("job")
		a, b := reentrant.WithOwner(v.ctx, "a"), reentrant.WithOwner(v.ctx, "b")
		must(t, l.Lock(a))
		next := begin(func() error { return l.Lock(b) })
		v.pass(time.Millisecond)
		v.onScript("3", "epoch", func() string { return "OOM command not allowed when used memory > 'maxmemory'." })
		must(t, l.Unlock(a))
		must(t, next.wait())
		if held, err := l.IsHeld(b); err == nil && !held {
			t.Error("IsHeld of the holder: false, without an error")
		}
		if n, err := l.HoldCount(b); err == nil && n != 1 {
			t.Errorf("HoldCount of the holder: %d, without an error", n)
		}
		if held, err := l.IsHeld(a); held || err != nil {
			t.Errorf("IsHeld of one that has released: %v, %v", held, err)
		}
		if locked, err := l.IsLocked(b); !locked || err != nil {
			t.Errorf("IsLocked: %v, %v", locked, err)
		}
		if ttl, err := l.TTL(b); ttl <= 0 || err != nil {
			t.Errorf("TTL: %v, %v", ttl, err)
		}
	})
}
