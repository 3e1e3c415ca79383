package multilock_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// A member that was locked by the ctx of a hold is unlocked by it after the hold was released.
func TestOwnershipMemberOutlivesTheHold(t *testing.T) {
	inVirtualTime(t, 1, func(t *testing.T, v *virtual) {
		x := locksOf(v.process()[0], "a", "b")
		nested := allOf(t, allOf(t, x[0], x[1]))
		for what, l := range map[string]interface {
			Do(context.Context, func(context.Context) error) error
		}{"flat": allOf(t, x[0], x[1]), "nested": nested} {
			var ctx context.Context
			must(t, l.Do(v.ctx, func(inner context.Context) error {
				ctx = context.WithoutCancel(inner)
				elsewhere(func() { must(t, x[0].Lock(ctx)) })
				return nil
			}))
			elsewhere(func() {
				if err := x[0].Unlock(ctx); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			})
			elsewhere(func() { wants(t, x[0].Unlock(ctx), reentrant.ErrNotHeld) })
			if keys := v.s[0].Keys(); len(keys) > 0 {
				t.Errorf("%s: left behind: %v", what, keys)
			}
		}
	})
}

// So is it after the hold was lost, by other members, whether the hold was released since or not.
func TestOwnershipMemberOutlivesTheLoss(t *testing.T) {
	inVirtualTime(t, 2, func(t *testing.T, v *virtual) {
		f := v.process()
		for _, early := range []bool{false, true} {
			hold, err := f.all(t, name).Acquire(v.ctx)
			must(t, err)
			ctx := context.WithoutCancel(hold.Context())
			elsewhere(func() { must(t, f[1].NewLock(name).Lock(ctx)) })
			v.s[0].FlushAll()
			v.pass(notedIn)
			if !over(hold.Lost()) {
				t.Fatal("not lost")
			}
			if early {
				wants(t, hold.Release(v.ctx), reentrant.ErrLost)
			}
			elsewhere(func() { must(t, f[1].NewLock(name).Unlock(ctx)) })
			if !early {
				wants(t, f[1].NewLock(name).Lock(ctx), reentrant.ErrLost)
				wants(t, hold.Release(v.ctx), reentrant.ErrLost)
			}
			v.pass(time.Millisecond)
			if keys := v.s[1].Keys(); len(keys) > 0 {
				t.Errorf("left behind: %v", keys)
			}
		}
	})
}

// An Unlock under the ctx of a lost hold does not end a later hold of the same owner.
func TestOwnershipUnlockOfAnEarlierTenure(t *testing.T) {
	inVirtualTime(t, 1, func(t *testing.T, v *virtual) {
		x := locksOf(v.process()[0], "a", "b")
		ab := allOf(t, x[0], x[1])
		hold, err := ab.Acquire(v.ctx, reentrant.WithFixedLease(lease))
		must(t, err)
		stale := context.WithoutCancel(hold.Context())
		v.pass(2 * lease)
		must(t, ab.Lock(v.ctx))
		elsewhere(func() { wants(t, ab.Unlock(stale), reentrant.ErrLost) })
		must(t, ab.Unlock(v.ctx))
		wants(t, hold.Release(v.ctx), reentrant.ErrLost)
	})
}

// valueCtx has a function run when Value is asked for the second time.
type valueCtx struct {
	context.Context
	asked *atomic.Int32
	f     func()
}

func (c valueCtx) Value(key any) any {
	if c.asked.Add(1) == 2 {
		c.f()
	}
	return c.Context.Value(key)
}

// The hold that ctx comes from is released when the call has just found it: the call takes the lock
// as itself.
func TestOwnershipOfMembersReleasedOnTheWay(t *testing.T) {
	inVirtualTime(t, 1, func(t *testing.T, v *virtual) {
		x := locksOf(v.process()[0], "a", "b")
		ab := allOf(t, x[0], x[1])
		hold, err := ab.Acquire(v.ctx)
		must(t, err)
		elsewhere(func() {
			ctx := valueCtx{context.WithoutCancel(hold.Context()), new(atomic.Int32), func() { must(t, hold.Release(v.ctx)) }}
			must(t, ab.Lock(ctx))
			if err := ab.Unlock(ctx); err != nil {
				t.Errorf("not to be unlocked: %v", err)
			}
		})
		if keys := v.s[0].Keys(); len(keys) > 0 {
			t.Errorf("left behind: %v", keys)
		}
	})
}

// askedCtx has a function run when Err is called for the first time. A call does so once it knows for
// whom it acts and in what it is nested.
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

// Two calls of an owner that take the lock at the same time share one tenure: a call with the ctx of
// either hold is nested in both.
func TestOwnershipOfCallsAtOnce(t *testing.T) {
	inVirtualTime(t, 1, func(t *testing.T, v *virtual) {
		x := locksOf(v.process()[0], "a", "b")
		ab := allOf(t, x[0], x[1])
		order := as(v.ctx, "order")
		var first, second context.Context
		one, err := ab.Acquire(askedCtx{order, new(atomic.Bool), func() {
			two, err := ab.Acquire(order)
			must(t, err)
			first = two.Context()
			t.Cleanup(func() { must(t, two.Release(context.Background())) })
			must(t, ab.Lock(order))
		}})
		must(t, err)
		second = one.Context()
		for _, ctx := range []context.Context{first, second, order} {
			elsewhere(func() {
				must(t, ab.Lock(ctx))
				must(t, ab.Unlock(ctx))
			})
		}
		must(t, ab.Unlock(second))
		must(t, one.Release(v.ctx))
	})
}

// A hold that is released while a call on a member finds it covers that member or does not, and is
// never without it: the call would be the owner of a hold that is over.
func TestOwnershipReleasedWhileItIsLookedAt(t *testing.T) {
	_, rdb := redistest.Mini(t)
	c := newClient(t, rdb)
	x := locksOf(c, "a", "b")
	ab := allOf(t, x[0], x[1])
	for range 200 {
		hold, err := ab.Acquire(as(t.Context(), "me"))
		must(t, err)
		part, cover := x[0].Member().Parts()[0], multilock.CoverOf(hold)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				covering, covered := cover.Covers(part)
				if !covered {
					return
				}
				if covering.Hold == nil {
					t.Error("released and covering, or without a member")
					return
				}
			}
		}()
		runtime.Gosched()
		must(t, hold.Release(t.Context()))
		<-done
	}
}
