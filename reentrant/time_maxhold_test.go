package reentrant_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// A goroutine that hangs with the lock must not keep it for as long as its process
// lives.
func TestTimeMaxHold(t *testing.T) {
	const most = 3 * lease
	for _, nested := range []bool{false, true} {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			c := v.client(reentrant.WithMaxHold(most))
			l := c.NewLock("job")
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
}

// A new hold has the whole limit again, and a fixed lease is what was asked for,
// also where it is longer than the limit.
func TestTimeMaxHoldIsForOneHold(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client(reentrant.WithMaxHold(2 * lease)).NewLock("job")
		for range 3 {
			must(t, l.Lock(v.ctx))
			v.pass(2*lease - time.Millisecond)
			must(t, l.Unlock(v.ctx))
		}
		must(t, l.LockLease(v.ctx, time.Minute))
		v.pass(time.Minute - time.Second)
		must(t, l.Unlock(v.ctx))
	})
}
