//go:build interop

package redisson_test

import (
	"errors"
	"testing"

	"github.com/redlatch/redlatch/reentrant"
)

// Each side frees what the other holds, which finds out, and a waiter is woken.
func testForceUnlock(t *testing.T, r *rig) {
	c := r.client(t, reentrant.WithLease(briskLease))
	lock := c.NewLock("forced")

	// Redisson frees Go's lock, for Go's other client.
	hold, err := lock.Acquire(t.Context())
	must(t, err)
	other := r.client(t)
	ctx := reentrant.WithOwner(t.Context(), "waiter")
	granted := begin(func() error { return other.NewLock("forced").Lock(ctx) })
	r.waitUntilGoWaits(t, "forced", other)
	r.java.want(t, true, "forceUnlock", "forced")
	must(t, await(t, granted, wokenWithin).err)
	await(t, hold.Lost(), briskLease)
	if err := hold.Release(t.Context()); !errors.Is(err, reentrant.ErrLost) {
		t.Errorf("release after Redisson's forceUnlock: %v", err)
	}
	must(t, other.NewLock("forced").Unlock(ctx))
	r.java.want(t, false, "forceUnlock", "forced")

	// Go frees Redisson's lock, for Redisson's other client.
	r.brisk.do(t, "lock", "forced", 7)
	woken := r.java.begin(t, "block", "forced", 8)
	r.waitUntilJavaWaits(t, "forced", 1)
	if freed, err := lock.ForceUnlock(t.Context()); !freed || err != nil {
		t.Errorf("ForceUnlock: %v, %v", freed, err)
	}
	must(t, await(t, woken, wokenWithin).err)
	r.brisk.want(t, false, "held", "forced", 7)
	r.brisk.wantNotOwner(t, "unlock", "forced", 7)
	r.java.want(t, true, "held", "forced", 8)
	r.java.do(t, "unlock", "forced", 8)
	if freed, err := lock.ForceUnlock(t.Context()); freed || err != nil {
		t.Errorf("ForceUnlock of a free lock: %v, %v", freed, err)
	}
}
