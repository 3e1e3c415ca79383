package reentrant_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/reentrant"
)

// A renewal arrives when its hold was released and the same owner has the lock again, with a
// fixed lease, which it makes longer. When that has ended nobody holds the lock, and nobody may
// have to wait for the rest of a renewed lease.
func TestTimeRenewalReachesTheNextFixedLease(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		const fixed = lease / 5
		l, ctx := v.client().NewLock("job"), asHolder(t)
		must(t, l.Lock(ctx))
		v.pass(lease / 2) // renewed once: the script is known
		var held atomic.Bool
		v.onCommand(func(cmd string, args []string) string {
			if renewal := cmd == "EVALSHA" && args[1] == "1"; renewal && held.CompareAndSwap(false, true) {
				time.Sleep(fixed * 3 / 4)
			}
			return ""
		})
		for range 1000 {
			if held.Load() {
				break
			}
			v.pass(time.Millisecond)
		}
		v.onCommand(nil)
		must(t, l.Unlock(ctx))
		hold, err := l.Acquire(ctx, reentrant.WithFixedLease(fixed))
		must(t, err)
		v.pass(fixed - time.Millisecond)
		if !ended(hold.Lost()) {
			t.Fatal("a fixed lease is trusted beyond its end")
		}
		v.pass(fixed / 4)
		ok, err := v.client().NewLock("job").TryLock(locktest.AsWaiter(t), 0, 0)
		must(t, err)
		if !ok {
			t.Errorf("nobody holds the lock, and it is taken for %v more", v.ttl("job"))
		}
	})
}
