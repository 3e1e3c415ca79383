package reentrant_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// Whose lease is short neither shortens nor prolongs the other's, waiting for it or taking
// over from it; and a different prefix is a different lock.
func TestFault60EachItsOwnLease(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		short, long := v.client(), v.client(reentrant.WithLease(time.Minute))
		ls, ll := short.NewLock("job"), long.NewLock("job")
		hold, err := ll.Acquire(v.ctx)
		must(t, err)
		waiter := begin(func() error { return ls.Lock(owner(v.ctx, "short")) })
		v.pass(10 * lease)
		if left := v.ttl("job"); waiter.over() || left != 50*time.Second {
			t.Fatalf("%v are left of a minute after 10 s, waiter %v", left, waiter.over())
		}
		must(t, v.client(reentrant.WithPrefix("other:")).NewLock("job").Lock(v.ctx))
		must(t, hold.Release(v.ctx))
		must(t, waiter.wait())
		if left := v.ttl("job"); left != lease {
			t.Fatalf("%v are left of the next one's lease of %v", left, lease)
		}
		next := begin(func() error { return ll.Lock(owner(v.ctx, "long")) })
		v.pass(10 * lease)
		if left := v.ttl("job"); next.over() || left > lease || left < lease/2 {
			t.Fatalf("%v are left while one with a longer lease waits", left)
		}
		must(t, ls.Unlock(owner(v.ctx, "short")))
		must(t, next.wait())
		if left := v.ttl("job"); left != 3*time.Second {
			t.Fatalf("%v are left of the claim", left)
		}
		v.pass(2 * time.Second)
		if left := v.ttl("job"); left < 59*time.Second {
			t.Fatalf("%v are left of a minute after the claim was renewed", left)
		}
	})
}
