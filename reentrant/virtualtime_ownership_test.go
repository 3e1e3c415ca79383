package reentrant_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// try is a single attempt: whether the lock was taken, and what stood in the way.
func try(l *reentrant.Lock, ctx context.Context) (bool, *reentrant.NotAcquiredError) {
	_, err := l.Acquire(ctx, reentrant.WithWait(0))
	if err == nil {
		return true, nil
	}
	var refused *reentrant.NotAcquiredError
	errors.As(err, &refused)
	return false, refused
}

// A hold's ctx owns the lock that it comes from and no other: eight workers under the ctx of a batch
// exclude each other by the lock of an account.
func TestOwnershipOfOneNameOnly(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		batch, account := c.NewLock("batch"), c.NewLock("account")
		var inside, most atomic.Int32
		must(t, batch.Do(v.ctx, func(ctx context.Context) error {
			calls := make([]*pending, 8)
			for i := range calls {
				calls[i] = begin(func() error {
					return account.Do(ctx, func(context.Context) error {
						most.Store(max(most.Load(), inside.Add(1)))
						time.Sleep(10 * time.Millisecond)
						inside.Add(-1)
						return nil
					})
				})
			}
			for _, call := range calls {
				must(t, call.wait())
			}
			return nil
		}))
		if most.Load() != 1 {
			t.Errorf("%d were inside at once", most.Load())
		}
	})
}

// Do A, in it B, in it A: enters A again, on any goroutine and as often as one likes.
func TestOwnershipThroughAnotherLock(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		a, b := c.NewLock("a"), c.NewLock("b")
		must(t, a.Do(v.ctx, func(ctx context.Context) error {
			var err error
			elsewhere(func() {
				err = b.Do(ctx, func(ctx context.Context) error {
					var err error
					elsewhere(func() {
						err = a.Do(ctx, func(ctx context.Context) error {
							if n, err := a.HoldCount(ctx); n != 2 || err != nil {
								t.Errorf("held %d times, %v", n, err)
							}
							if held, err := b.IsHeld(ctx); !held || err != nil {
								t.Errorf("b is held: %v, %v", held, err)
							}
							return nil
						})
					})
					return err
				})
			})
			return err
		}))
	})
}

// WithOwner above a hold owns the other names.
func TestOwnershipNamedAbove(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		a, b := c.NewLock("a"), c.NewLock("b")
		order := owner(v.ctx, "order-7")
		must(t, a.Do(order, func(ctx context.Context) error {
			must(t, b.Lock(ctx))
			elsewhere(func() { must(t, b.Lock(order)) })
			must(t, b.Unlock(ctx))
			must(t, b.Unlock(order))
			return nil
		}))
	})
}

// WithOwner and WithNewOwner below a hold hide it. Who waits for its own caller hears so.
func TestOwnershipHidden(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		a := c.NewLock("a")
		must(t, a.Do(v.ctx, func(ctx context.Context) error {
			for _, hidden := range []context.Context{owner(ctx, "another"), reentrant.WithNewOwner(ctx)} {
				ok, err := try(a, hidden)
				if ok || err.Ancestor != reentrant.AncestorHidden || !strings.Contains(err.Error(), "WithOwner hides") {
					t.Errorf("got %v, %v", ok, err)
				}
				if held, err := a.IsHeld(hidden); held || err != nil {
					t.Errorf("held by who is hidden: %v, %v", held, err)
				}
				wants(t, a.Unlock(hidden), reentrant.ErrNotHeld)
			}
			return nil
		}))
		must(t, a.Lock(v.ctx))
		if ok, err := try(a, owner(v.ctx, "another")); ok || err.Ancestor != reentrant.AncestorGoroutine {
			t.Errorf("got %v, %v", ok, err)
		}
		must(t, a.Unlock(v.ctx))
	})
}

// A new owner is nobody else's, and its ctx may change goroutine.
func TestOwnershipNew(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		a := c.NewLock("a")
		mine, other := reentrant.WithNewOwner(v.ctx), reentrant.WithNewOwner(v.ctx)
		hold, err := a.Acquire(mine)
		must(t, err)
		_, id, _ := strings.Cut(hold.Owner(), ":")
		elsewhere(func() { must(t, a.Lock(mine)); must(t, a.Unlock(mine)) })
		for _, ctx := range []context.Context{v.ctx, other, owner(v.ctx, id), owner(v.ctx, id[1:]), owner(v.ctx, strings.TrimPrefix(id, "=new-"))} {
			if ok, _ := try(a, ctx); ok {
				t.Error("another owner is equal to a new one")
			}
		}
		must(t, hold.Release(v.ctx))
	})
}

// With the ctx of a released hold nobody enters a later hold of the same goroutine.
func TestOwnershipStale(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		a := c.NewLock("a")
		first, err := a.Acquire(v.ctx)
		must(t, err)
		stale := context.WithoutCancel(first.Context())
		must(t, first.Release(v.ctx))
		second, err := a.Acquire(v.ctx)
		must(t, err)
		must(t, a.Lock(v.ctx))
		elsewhere(func() {
			if ok, _ := try(a, stale); ok {
				t.Error("a stale ctx has entered a later hold")
			}
			if held, err := a.IsHeld(stale); held || err != nil {
				t.Errorf("held: %v, %v", held, err)
			}
			wants(t, a.Unlock(stale), reentrant.ErrNotHeld)
		})
		must(t, a.Unlock(v.ctx))
		must(t, second.Release(v.ctx))
	})
}

// A nested Lock may outlive the hold whose ctx it was taken with, and is unlocked with that.
func TestOwnershipOutlived(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		a := c.NewLock("a")
		hold, err := a.Acquire(v.ctx)
		must(t, err)
		elsewhere(func() { must(t, a.Lock(hold.Context())) })
		must(t, hold.Release(v.ctx))
		elsewhere(func() { must(t, a.Unlock(context.WithoutCancel(hold.Context()))) })
		if v.mini.Exists("a") {
			t.Error("a is still held")
		}
	})
}

// A call with the ctx of a lost hold gets its loss, and queues for nothing.
func TestOwnershipLost(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		a := c.NewLock("a")
		hold, err := a.Acquire(v.ctx)
		must(t, err)
		ctx := context.WithoutCancel(hold.Context())
		must(t, a.Lock(ctx))
		_, err = a.ForceUnlock(v.ctx)
		must(t, err)
		elsewhere(func() {
			wants(t, a.Lock(ctx), reentrant.ErrLost)
			wants(t, a.Unlock(ctx), reentrant.ErrLost) // its own
			wants(t, a.Unlock(ctx), reentrant.ErrLost) // the hold's, which stays
			wants(t, a.Lock(ctx), reentrant.ErrLost)
			if held, err := a.IsHeld(ctx); held || err != nil {
				t.Errorf("held: %v, %v", held, err)
			}
		})
		wants(t, hold.Release(v.ctx), reentrant.ErrLost)
		must(t, a.Lock(v.ctx)) // all that was owed is paid
		elsewhere(func() {
			if ok, _ := try(a, ctx); ok {
				t.Error("the ctx of a hold that is lost and released enters a later one")
			}
		})
		must(t, a.Unlock(v.ctx))
	})
}

// Another lock's ctx does not carry an owner from one goroutine to another.
func TestOwnershipUnderAnotherLock(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		a, b := c.NewLock("a"), c.NewLock("b")
		must(t, a.Do(v.ctx, func(ctx context.Context) error {
			must(t, b.Lock(ctx))
			elsewhere(func() {
				wants(t, b.Unlock(ctx), reentrant.ErrNotHeld)
				if ok, _ := try(b, ctx); ok {
					t.Error("another goroutine has entered b")
				}
			})
			return b.Unlock(ctx)
		}))
	})
}

// Unlock ends no hold that somebody has as a value, also not on the goroutine that acquired it.
func TestOwnershipUnlockLeavesHolds(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		a := c.NewLock("a")
		must(t, a.Do(v.ctx, func(ctx context.Context) error {
			for _, ctx := range []context.Context{ctx, v.ctx} {
				err := a.Unlock(ctx)
				wants(t, err, reentrant.ErrNotHeld)
				if why := new(reentrant.NotHeldError); !errors.As(err, &why) || !why.ByHold {
					t.Errorf("got %v", err)
				}
			}
			hold, err := a.Acquire(ctx)
			must(t, err)
			must(t, a.Lock(ctx))
			must(t, a.Unlock(ctx)) // the Lock, though it came last but for none
			if ctx.Err() != nil || hold.Context().Err() != nil {
				t.Error("Unlock has ended a hold")
			}
			return hold.Release(ctx)
		}))
	})
}

// Another Client is another participant, on the same Redis too, and the error says so.
func TestOwnershipOfAnotherClient(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		here, there := v.client(), v.client()
		must(t, here.NewLock("a").Do(v.ctx, func(ctx context.Context) error {
			ok, err := try(there.NewLock("a"), ctx)
			if ok || err.Ancestor != reentrant.AncestorOtherClient {
				t.Errorf("got %v, %v", ok, err)
			}
			return nil
		}))
	})
}

// Who holds a lock goes by the Client's ownership. After a write-behind hand-off the hash names an
// earlier owner for a while.
func TestOwnershipBehind(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client(reentrant.WithHandoff(reentrant.WriteBehind))
		a := c.NewLock("a")
		first, err := a.Acquire(v.ctx)
		must(t, err)
		next := begin(func() error {
			return a.Do(v.ctx, func(ctx context.Context) error {
				elsewhere(func() {
					must(t, a.Lock(ctx))
					must(t, a.Unlock(ctx))
					if ok, _ := try(a, context.WithoutCancel(first.Context())); ok {
						t.Error("the ctx of the hold before has entered")
					}
				})
				return nil
			})
		})
		v.pass(time.Millisecond)
		must(t, first.Release(v.ctx))
		must(t, next.wait())
	})
}

// A hold that was released counts for nothing though the tenure goes on by another one.
func TestOwnershipReleasedInner(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		a := v.client().NewLock("a")
		outer, err := a.Acquire(v.ctx)
		must(t, err)
		inner, err := a.Acquire(v.ctx)
		must(t, err)
		must(t, inner.Release(v.ctx))
		elsewhere(func() {
			if ok, _ := try(a, context.WithoutCancel(inner.Context())); ok {
				t.Error("entered by the ctx of a released hold")
			}
		})
		must(t, outer.Release(v.ctx))
	})
}
