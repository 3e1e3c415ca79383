//go:build interop

package redisson_test

import (
	"testing"

	"github.com/redlatch/redlatch/reentrant"
)

// Both sides mean the same keys and channels by a name.
func testNames(t *testing.T, r *rig) {
	for _, name := range []string{
		"order:{42}", "{tag}", "{shop:7}:order:42", "a:b/c?d=e&f*[g]\\", "Ёж-订单-🔒", "5",
	} {
		t.Run(name, func(t *testing.T) {
			c := r.client(t)
			lock := c.NewLock(name, reentrant.WithFencing())
			ctx := reentrant.WithOwner(t.Context(), "o")

			must(t, lock.LockLease(ctx, longLease))
			r.hash(t, name, map[string]string{c.ID() + ":o": "1"})
			r.java.want(t, false, "fenced tryLock", name, 7, 0, -1)
			woken := r.java.begin(t, "fenced lock", name, 7)
			r.waitUntilJavaWaits(t, name, 1)
			must(t, lock.Unlock(ctx))
			must(t, await(t, woken, wokenWithin).err)

			r.hash(t, name, map[string]string{r.java.field(7): "1"})
			token := number(t, r.java.do(t, "token", name))
			granted := begin(func() error { return lock.Lock(ctx) })
			r.waitUntilGoWaits(t, name, c)
			r.java.do(t, "fenced unlock", name, 7)
			must(t, await(t, granted, wokenWithin).err)
			if after := number(t, r.java.do(t, "token", name)); after <= token {
				t.Errorf("token %d after %d", after, token)
			}
			must(t, lock.Unlock(ctx))
			r.java.want(t, false, "isLocked", name)
		})
	}
}
