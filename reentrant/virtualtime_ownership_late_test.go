package reentrant_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
)

// askedCtx has a function run when Err is asked for the first time, which a call does once it knows
// whom it acts for.
type askedCtx struct {
	context.Context
	asked *atomic.Bool
	f     func()
}

func (c askedCtx) Err() error {
	if !c.asked.Swap(true) {
		c.f()
	}
	return c.Context.Err()
}

// The hold that ctx comes from is being released when the call gets to the queue: it waits as itself, and
// not as the hold's owner, which it would be in a later tenure and could not unlock.
func TestOwnershipReleasedOnTheWay(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client().NewLock("a")
		hold, err := l.Acquire(v.ctx)
		must(t, err)
		v.scriptsTake(50 * time.Millisecond)
		var release *pending
		ctx := askedCtx{context.WithoutCancel(hold.Context()), new(atomic.Bool), func() {
			release = begin(func() error { return hold.Release(v.ctx) })
			v.pass(time.Millisecond)
		}}
		elsewhere(func() {
			must(t, l.Lock(ctx))
			must(t, release.wait())
			v.onCommand(nil)
		})
		if ok, _ := try(l, v.ctx); ok {
			t.Error("two goroutines are inside")
		}
		if ok, _ := l.ForceUnlock(v.ctx); !ok {
			t.Error("not locked")
		}
	})
}
