package reentrant_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// The Client remembers who lost a lock last, also somebody who was the first to lose one before.
func TestTimeLastLossesAreRemembered(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		const remembered = 1024
		l := v.client().NewLock("job")
		lose := func(name string) {
			must(t, l.LockLease(reentrant.WithOwner(v.ctx, name), 10*time.Millisecond))
			v.pass(20 * time.Millisecond)
		}
		lose("o")
		for i := range remembered - 1 {
			lose(fmt.Sprint("x", i))
		}
		lose("o")
		lose("y")
		wants(t, l.Unlock(reentrant.WithOwner(v.ctx, "o")), reentrant.ErrLost)
		wants(t, l.Unlock(reentrant.WithOwner(v.ctx, "x0")), reentrant.ErrNotHeld)
		wants(t, l.Unlock(reentrant.WithOwner(v.ctx, "x1")), reentrant.ErrLost)
	})
}

// An owner has lost two holds, one after the other, and releases both: no Unlock is owed.
func TestTimeTwoLossesOfOneOwnerReleased(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l, ctx := v.client().NewLock("job"), asHolder(t)
		var holds []*reentrant.Hold
		for range 2 {
			hold, err := l.Acquire(ctx, reentrant.WithFixedLease(10*time.Millisecond))
			must(t, err)
			holds = append(holds, hold)
			v.pass(20 * time.Millisecond)
		}
		for _, hold := range holds {
			wants(t, hold.Release(ctx), reentrant.ErrLost)
		}
		wants(t, l.Unlock(ctx), reentrant.ErrNotHeld)
	})
}
