package reentrant_test

import (
	"testing"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/reentrant"
)

// Nothing that belongs to a Client may be left for the next one: a channel made in one
// testing/synctest bubble ends the process when it is used in another, here and in the tests
// of whoever uses the library.
func TestTimeBehindBubblesShareNothing(t *testing.T) {
	for range 8 {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			l := v.client(locktest.WriteBehind).NewLock("job")
			hold, err := l.Acquire(owner(v.ctx, "first"))
			must(t, err)
			var next *reentrant.Hold
			waiter := begin(func() (err error) {
				next, err = l.Acquire(owner(v.ctx, "second"))
				return err
			})
			v.pass(0)
			must(t, hold.Release(v.ctx))
			must(t, waiter.wait())
			must(t, next.Release(v.ctx))
		})
	}
}
