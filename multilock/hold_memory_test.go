package multilock_test

import (
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/redlatch/redlatch/multilock"
)

// A hold that overlaps the next one of its owner, for ever: what was released is let go of.
func TestHandOverHandIsForgotten(t *testing.T) {
	inVirtualTime(t, 1, func(t *testing.T, v *virtual) {
		l := v.process().all(t, name)
		ctx := as(v.ctx, "x")
		var released []weak.Pointer[multilock.Hold]
		hold, err := l.Acquire(ctx)
		must(t, err)
		for range 20 {
			next, err := l.Acquire(ctx)
			must(t, err)
			must(t, hold.Release(v.ctx))
			released = append(released, weak.Make(hold))
			hold = next
		}
		v.pass(time.Minute)
		runtime.GC()
		runtime.GC()
		kept := 0
		for _, h := range released {
			if h.Value() != nil {
				kept++
			}
		}
		if kept > 1 {
			t.Errorf("%d of %d holds that were released are in memory still", kept, len(released))
		}
		must(t, hold.Release(v.ctx))
	})
}
