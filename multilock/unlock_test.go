package multilock_test

import (
	"context"
	"testing"

	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// unlocker is a lock of either package.
type unlocker interface {
	multilock.Locker
	Lock(ctx context.Context) error
	Unlock(ctx context.Context) error
}

// Unlock is for Lock. A Hold that was acquired after that Lock goes on until its own
// Release: otherwise its user would work under a ctx that has ended, and what is left
// would be renewed for ever, since nobody comes to release it.
func TestUnlockLeavesAHoldAlone(t *testing.T) {
	forBoth(t, 3, func(t *testing.T, v *virtual, lock func(fleet) *multilock.MultiLock) {
		l := lock(v.process())
		must(t, l.Lock(v.ctx))
		hold, err := l.Acquire(v.ctx)
		must(t, err)
		must(t, l.Unlock(v.ctx))
		if hold.Context().Err() != nil {
			t.Errorf("ended by the Unlock of another: %v", context.Cause(hold.Context()))
		}
		must(t, hold.Release(v.ctx))
		v.pass(2 * lease)
		v.wantHolders("---", name)

		// Also if it is the only one.
		hold, err = l.Acquire(v.ctx)
		must(t, err)
		wants(t, l.Unlock(v.ctx), reentrant.ErrNotHeld)
		if hold.Context().Err() != nil {
			t.Errorf("ended by an Unlock without a Lock: %v", context.Cause(hold.Context()))
		}
		must(t, hold.Release(v.ctx))
		v.wantHolders("---", name)
	})
}

// The same for a hold that an outer lock has on its member. An Unlock of the member releases a hold
// that the member's own Lock has made, whichever kind of lock it is.
func TestUnlockOfAMemberLeavesTheOuterHoldAlone(t *testing.T) {
	for _, kind := range []string{"Plain", "MultiLock"} {
		t.Run(kind, func(t *testing.T) {
			inVirtualTime(t, 2, func(t *testing.T, v *virtual) {
				a := v.process()
				var inner unlocker = a[0].NewLock(name)
				if kind == "MultiLock" {
					inner = a[:1].all(t, name)
				}
				outer, err := multilock.New(inner, a[1].NewLock(name))
				must(t, err)
				must(t, inner.Lock(v.ctx))
				hold, err := outer.Acquire(v.ctx)
				must(t, err)
				must(t, inner.Unlock(v.ctx))
				v.pass(2 * lease)
				if over(hold.Lost()) {
					t.Errorf("lost by the Unlock of a member: %v", context.Cause(hold.Context()))
				}
				must(t, hold.Release(v.ctx))
				v.pass(2 * lease)
				v.wantHolders("--", name)
			})
		})
	}
}
