package multilock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch/multilock"
)

// One lock on one server by way of two Clients, one of them inside a nested MultiLock: it is found
// out whichever of the nested locks comes first in their order.
func TestOneLockTwiceByNesting(t *testing.T) {
	for _, other := range []string{"aother", "bother", "cother", "dother"} {
		inVirtualTime(t, 1, func(t *testing.T, v *virtual) {
			a, b := v.process(), v.process()
			inner, err := multilock.New(a[0].NewLock(name), a[0].NewLock(other))
			must(t, err)
			l, err := multilock.New(inner, b[0].NewLock(name))
			must(t, err)
			ctx, cancel := context.WithTimeout(v.ctx, 30*time.Second)
			defer cancel()
			wants(t, l.Lock(ctx), multilock.ErrMembers)
		})
	}
}

// The owner has a lock by way of another Client, outside of the MultiLock, and that Client has
// another member of it. No two members are the same lock: it is busy.
func TestBusyByAnotherClientOfTheSameOwner(t *testing.T) {
	inVirtualTime(t, 2, func(t *testing.T, v *virtual) {
		f, other := v.process(), v.process(0)
		ctx := as(v.ctx, "x")
		must(t, f[0].NewLock(name).Lock(ctx))
		inner, err := multilock.New(f[0].NewLock("another"), f[1].NewLock(name))
		must(t, err)
		l, err := multilock.New(inner, other[0].NewLock(name))
		must(t, err)
		if ok, err := l.TryLock(ctx, 0, 0); ok || err != nil {
			t.Errorf("TryLock = %v, %v", ok, err)
		}
		must(t, f[0].NewLock(name).Unlock(ctx))
		must(t, l.Lock(ctx)) // they are three different locks, and can all be had
		must(t, l.Unlock(ctx))
	})
}
