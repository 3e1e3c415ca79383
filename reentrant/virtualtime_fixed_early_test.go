package reentrant_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
	"github.com/redlatch/redlatch/watchdog"
)

// A renewal that was in flight when its lock was released may make a fixed lease longer that the owner
// takes after it. So these are freed at their end, but not before: some are there to keep others out.
func TestTimeFixedLeaseIsNotFreedEarly(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		a, b := c.NewLock("a"), c.NewLock("b")
		must(t, a.Lock(asHolder(t)))
		v.pass(lease / 2)
		var held atomic.Bool
		v.onCommand(func(cmd string, args []string) string {
			if renewal := cmd == "EVALSHA" && args[1] == "1"; renewal && held.CompareAndSwap(false, true) {
				time.Sleep(10 * time.Millisecond)
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
		must(t, a.Unlock(asHolder(t)))
		for _, lease := range []time.Duration{10 * time.Second, time.Hour} {
			ctx := reentrant.WithOwner(v.ctx, lease.String())
			must(t, b.LockLease(ctx, lease)) // another lock, another owner
			v.pass(lease - watchdog.Drift(lease)/2)
			wants(t, b.Unlock(ctx), reentrant.ErrLost)
			if v.ttl("b") == 0 {
				t.Errorf("free %v before the end of a lease of %v", watchdog.Drift(lease)/2, lease)
			}
			v.pass(watchdog.Drift(lease))
		}
	})
}
