//go:build interop

package redisson_test

import (
	"testing"

	"github.com/redlatch/redlatch/reentrant"
)

// What Go writes is what Redisson writes, read with plain commands.
func testBytes(t *testing.T, r *rig) {
	c := r.client(t)
	lock := c.NewLock("bytes")
	ctx := reentrant.WithOwner(t.Context(), "=42") // a name that is taken as it is
	hold, err := lock.Acquire(ctx, reentrant.WithFixedLease(longLease))
	must(t, err)
	r.hash(t, "bytes", map[string]string{hold.Owner(): "1"})
	r.ttl(t, "bytes", longLease)
	must(t, lock.LockLease(ctx, longLease))
	r.hash(t, "bytes", map[string]string{hold.Owner(): "2"})
	r.ttl(t, "bytes", longLease)
	must(t, lock.Unlock(ctx))
	r.hash(t, "bytes", map[string]string{hold.Owner(): "1"})
	r.ttl(t, "bytes", longLease)
	must(t, hold.Release(ctx))
	r.hash(t, "bytes", nil)

	r.java.do(t, "lock", "bytes", 42, longLease.Milliseconds())
	r.hash(t, "bytes", map[string]string{r.java.field(42): "1"})
	r.ttl(t, "bytes", longLease)
	r.java.do(t, "lock", "bytes", 42, longLease.Milliseconds())
	r.hash(t, "bytes", map[string]string{r.java.field(42): "2"})
	r.java.do(t, "unlock", "bytes", 42)
	r.java.do(t, "unlock", "bytes", 42)
	r.hash(t, "bytes", nil)
}

// Nested holds of one side keep the other out until the last is released.
func testNestedCounts(t *testing.T, r *rig) {
	const depth = 3
	name := "nested"
	c := r.client(t)
	lock := c.NewLock(name)
	refused := func() {
		t.Helper()
		if ok, err := lock.TryLock(t.Context(), 0, 0); ok || err != nil {
			t.Errorf("Go's TryLock of Redisson's lock: %v, %v", ok, err)
		}
	}

	for n := 1; n <= depth; n++ {
		r.java.do(t, "lock", name, 7)
		r.hash(t, name, map[string]string{r.java.field(7): string(rune('0' + n))})
		r.java.want(t, n, "count", name, 7)
		refused()
	}
	for n := depth - 1; n > 0; n-- {
		r.java.do(t, "unlock", name, 7)
		r.java.want(t, n, "count", name, 7)
		refused()
	}
	r.java.do(t, "unlock", name, 7)
	r.java.wantNotOwner(t, "unlock", name, 7)

	ctx := reentrant.WithOwner(t.Context(), "nester")
	for n := 1; n <= depth; n++ {
		must(t, lock.Lock(ctx))
		r.hash(t, name, map[string]string{c.ID() + ":nester": string(rune('0' + n))})
		r.java.want(t, false, "tryLock", name, 7, 0, -1)
		r.java.want(t, true, "isLocked", name)
		r.java.want(t, false, "held", name, 7)
		r.java.want(t, 0, "count", name, 7)
	}
	for n := depth - 1; n > 0; n-- {
		must(t, lock.Unlock(ctx))
		if got, err := lock.HoldCount(ctx); got != n || err != nil {
			t.Errorf("hold count %d, %v, want %d", got, err, n)
		}
		r.java.want(t, false, "tryLock", name, 7, 0, -1)
	}
	r.java.wantNotOwner(t, "unlock", name, 7) // and it changes nothing
	must(t, lock.Unlock(ctx))
	r.java.want(t, false, "isLocked", name)
	r.java.want(t, true, "tryLock", name, 7, 0, -1)
	r.java.do(t, "unlock", name, 7)
}
