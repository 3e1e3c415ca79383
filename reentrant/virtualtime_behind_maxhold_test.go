package reentrant_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/reentrant"
)

// WithMaxHold: a hold ends at most one lease after its limit, also if its field is moved
// only then, which would give it another lease.
func TestTimeBehindMaxHoldAndALateMove(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		const lease, most = 20 * time.Second, 2 * time.Second
		c := v.client(locktest.WriteBehind, reentrant.WithLease(lease), reentrant.WithMaxHold(most))
		l := c.NewLock("job")
		first, err := l.Acquire(owner(v.ctx, "a"))
		must(t, err)
		var second *reentrant.Hold
		waiter := begin(func() (err error) {
			second, err = l.Acquire(owner(v.ctx, "b"))
			return err
		})
		v.pass(0)
		v.refuseAll(loading)
		granted := time.Now()
		must(t, first.Release(v.ctx))
		must(t, waiter.wait())
		v.pass(lease * 9 / 10)
		v.refuseAll("")
		v.pass(most + lease - time.Since(granted))
		if !ended(second.Lost()) {
			t.Errorf("%v after the grant it is valid for another %v", time.Since(granted), time.Until(second.ValidUntil()))
		}
		v.pass(2 * lease)
	})
}
