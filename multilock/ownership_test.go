package multilock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// elsewhere runs f on a goroutine of its own, so as another owner, and waits for it.
func elsewhere(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// tryLocker is any lock: what a single attempt is made on.
type tryLocker interface {
	TryLock(ctx context.Context, wait, lease time.Duration) (bool, error)
	Unlock(ctx context.Context) error
}

// enters takes the lock once, on another goroutine, and gives it back.
func enters(t *testing.T, ctx context.Context, l tryLocker) (entered bool) {
	t.Helper()
	elsewhere(func() {
		ok, err := l.TryLock(ctx, 0, 0)
		if err != nil {
			t.Errorf("TryLock: %v", err)
		}
		if entered = ok; ok {
			must(t, l.Unlock(ctx))
		}
	})
	return entered
}

// locksOf are locks of several names on one Client.
func locksOf(c *reentrant.Client, names ...string) (locks []*reentrant.Lock) {
	for _, name := range names {
		locks = append(locks, c.NewLock(name))
	}
	return locks
}

func allOf(t *testing.T, locks ...multilock.Locker) *multilock.MultiLock {
	t.Helper()
	l, err := multilock.New(locks...)
	must(t, err)
	return l
}

// A hold's ctx enters its MultiLock, its members and others of the same members, and nothing else.
func TestOwnershipOfMembers(t *testing.T) {
	inVirtualTime(t, 1, func(t *testing.T, v *virtual) {
		x := locksOf(v.process()[0], "a", "b", "c", "d")
		a, b, c, d := x[0], x[1], x[2], x[3]
		ab, bc, nested := allOf(t, a, b), allOf(t, b, c), allOf(t, allOf(t, a, b), c)
		must(t, ab.Do(v.ctx, func(ctx context.Context) error {
			for what, l := range map[string]tryLocker{"itself": ab, "a": a, "b": b, "another of the same": allOf(t, b, a), "bc": bc, "nested": nested} {
				if !enters(t, ctx, l) {
					t.Errorf("%s is not entered", what)
				}
				if enters(t, v.ctx, l) {
					t.Errorf("%s is entered without the ctx", what)
				}
			}
			must(t, d.Lock(ctx))
			if enters(t, ctx, d) || enters(t, ctx, allOf(t, a, d)) {
				t.Error("a lock is entered that the ctx does not come from")
			}
			return d.Unlock(ctx)
		}))
		must(t, b.Do(v.ctx, func(ctx context.Context) error {
			var err error
			elsewhere(func() {
				err = bc.Do(ctx, func(ctx context.Context) error { // with b from above, and c anew
					if !enters(t, ctx, bc) || !enters(t, ctx, b) || !enters(t, ctx, c) || enters(t, v.ctx, c) {
						t.Error("its own are not entered, or by others")
					}
					return nil
				})
			})
			return err
		}))
		must(t, nested.Do(v.ctx, func(ctx context.Context) error {
			for _, l := range []tryLocker{a, b, c, ab, bc} {
				if !enters(t, ctx, l) {
					t.Errorf("%v is not entered below a MultiLock of MultiLocks", l)
				}
			}
			return nil
		}))
		if keys := v.s[0].Keys(); len(keys) > 0 {
			t.Errorf("left behind: %v", keys)
		}
	})
}

// An owner that is named below the hold hides it; one above owns the other names.
func TestOwnershipOfMembersNamed(t *testing.T) {
	inVirtualTime(t, 1, func(t *testing.T, v *virtual) {
		x := locksOf(v.process()[0], "a", "b", "c")
		ab, order := allOf(t, x[0], x[1]), as(v.ctx, "order")
		must(t, ab.Do(order, func(ctx context.Context) error {
			for _, l := range []tryLocker{ab, x[0]} {
				if enters(t, as(ctx, "another"), l) || enters(t, reentrant.WithNewOwner(ctx), l) {
					t.Error("entered by another owner")
				}
			}
			must(t, x[2].Lock(ctx))
			elsewhere(func() { must(t, x[2].Unlock(order)) })
			return nil
		}))
	})
}

// The ctx of a released hold enters no later one of the same goroutine.
func TestOwnershipOfMembersStale(t *testing.T) {
	inVirtualTime(t, 1, func(t *testing.T, v *virtual) {
		x := locksOf(v.process()[0], "a", "b")
		ab := allOf(t, x[0], x[1])
		first, err := ab.Acquire(v.ctx)
		must(t, err)
		stale := context.WithoutCancel(first.Context())
		elsewhere(func() { must(t, ab.Lock(stale)) })
		must(t, first.Release(v.ctx))
		elsewhere(func() { must(t, ab.Unlock(stale)) }) // which has outlived it
		second, err := ab.Acquire(v.ctx)
		must(t, err)
		must(t, ab.Lock(v.ctx))
		if enters(t, stale, ab) || enters(t, stale, x[1]) {
			t.Error("a stale ctx has entered")
		}
		elsewhere(func() { wants(t, ab.Unlock(stale), reentrant.ErrNotHeld) })
		must(t, ab.Unlock(v.ctx))
		must(t, second.Release(v.ctx))
	})
}

// The ctx of a lost hold gets the loss, from the members too.
func TestOwnershipOfMembersLost(t *testing.T) {
	inVirtualTime(t, 2, func(t *testing.T, v *virtual) {
		f := v.process()
		ab := f.all(t, name)
		hold, err := ab.Acquire(v.ctx)
		must(t, err)
		ctx := context.WithoutCancel(hold.Context())
		v.s[0].FlushAll()
		v.pass(notedIn)
		elsewhere(func() {
			for _, c := range f {
				wants(t, c.NewLock(name).Lock(ctx), reentrant.ErrLost)
			}
			wants(t, ab.Lock(ctx), reentrant.ErrLost)
			wants(t, ab.Unlock(ctx), reentrant.ErrLost)
			wants(t, ab.Lock(ctx), reentrant.ErrLost)
		})
		wants(t, hold.Release(v.ctx), reentrant.ErrLost)
		must(t, ab.Lock(v.ctx))
		if enters(t, ctx, ab) {
			t.Error("the ctx of a hold that is lost and released enters a later one")
		}
		must(t, ab.Unlock(v.ctx))
	})
}

// Unlock ends no hold that somebody has as a value.
func TestOwnershipUnlockLeavesMultiHolds(t *testing.T) {
	inVirtualTime(t, 1, func(t *testing.T, v *virtual) {
		x := locksOf(v.process()[0], "a", "b")
		ab := allOf(t, x[0], x[1])
		must(t, ab.Do(v.ctx, func(ctx context.Context) error {
			for _, ctx := range []context.Context{ctx, v.ctx} {
				for _, l := range []tryLocker{ab, x[0]} {
					err := l.Unlock(ctx)
					wants(t, err, reentrant.ErrNotHeld)
					if why := new(reentrant.NotHeldError); !errors.As(err, &why) || !why.ByHold {
						t.Errorf("got %v", err)
					}
				}
			}
			return ctx.Err()
		}))
	})
}

// A member that a quorum does without, and that was locked with the hold's ctx, can be unlocked with
// it when the hold is over. A lock that the same owner takes later cannot.
func TestOwnershipOfAMissingMemberLater(t *testing.T) {
	for _, end := range []string{"released", "lost"} {
		inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
			f := v.process()
			l := f.quorum(t, name)
			v.s[2].refuse("ERR out of order")
			hold, err := l.Acquire(v.ctx)
			must(t, err)
			ctx := context.WithoutCancel(hold.Context())
			v.s[2].refuse("")
			missing := f[2].NewLock(name)
			elsewhere(func() { must(t, missing.Lock(ctx)) }) // before the monitor takes it
			if end == "lost" {
				v.s[0].FlushAll()
				v.s[1].FlushAll()
				v.pass(notedIn)
				wants(t, hold.Release(v.ctx), reentrant.ErrLost)
			} else {
				must(t, hold.Release(v.ctx))
			}
			elsewhere(func() {
				if err := missing.Unlock(ctx); err != nil {
					t.Errorf("%s: %v", end, err)
				}
			})
			v.wantHolders("---", name, f)
			v.pass(time.Millisecond)
			must(t, missing.Lock(v.ctx))
			elsewhere(func() { wants(t, missing.Unlock(ctx), reentrant.ErrNotHeld) })
			must(t, missing.Unlock(v.ctx))
		})
	}
}

// A member that a quorum does without is the covering owner's all the same: the monitor and a nested
// call do not keep each other out.
func TestOwnershipOfAMissingMember(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		f := v.process()
		l := f.quorum(t, name)
		v.s[2].refuse("ERR out of order")
		must(t, l.Do(v.ctx, func(ctx context.Context) error {
			v.s[2].refuse("")
			missing := f[2].NewLock(name)
			elsewhere(func() { must(t, missing.Lock(ctx)) })
			v.pass(lease) // the monitor enters
			if !enters(t, ctx, l) || enters(t, v.ctx, missing) {
				t.Error("not entered, or by others")
			}
			elsewhere(func() { must(t, missing.Unlock(ctx)) })
			v.wantHolders("AAA", name, f)
			return nil
		}))
	})
}
