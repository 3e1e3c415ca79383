package reentrant_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/reentrant"
)

// waysToLock are all calls that take a lock; those that succeed give it back.
var waysToLock = map[string]func(ctx context.Context, l *reentrant.Lock) error{
	"Lock":      func(ctx context.Context, l *reentrant.Lock) error { return andUnlock(ctx, l, l.Lock(ctx)) },
	"LockLease": func(ctx context.Context, l *reentrant.Lock) error { return andUnlock(ctx, l, l.LockLease(ctx, lease)) },
	"TryLock once": func(ctx context.Context, l *reentrant.Lock) error {
		return andUnlock(ctx, l, locktest.Tried(l.TryLock(ctx, 0, 0)))
	},
	"TryLock": func(ctx context.Context, l *reentrant.Lock) error {
		return andUnlock(ctx, l, locktest.Tried(l.TryLock(ctx, time.Minute, 0)))
	},
	"Acquire": func(ctx context.Context, l *reentrant.Lock) error {
		h, err := l.Acquire(ctx)
		if err != nil {
			return err
		}
		return h.Release(ctx)
	},
	"Do": func(ctx context.Context, l *reentrant.Lock) error {
		return l.Do(ctx, func(context.Context) error { return nil })
	},
}

func andUnlock(ctx context.Context, l *reentrant.Lock, err error) error {
	if err != nil {
		return err
	}
	return l.Unlock(ctx)
}

// waysToLose have the holder of "job" lose it, and the library know that.
var waysToLose = map[string]func(v *virtual, l *reentrant.Lock){
	"deleted": func(v *virtual, _ *reentrant.Lock) { v.mini.Del("job"); v.pass(lease / 2) },
	"forced":  func(v *virtual, l *reentrant.Lock) { _, err := l.ForceUnlock(v.ctx); must(v.t, err) },
	"silence": func(v *virtual, _ *reentrant.Lock) { v.refuseAll(loading); v.pass(2 * lease); v.refuseAll("") },
	"MaxHold": func(v *virtual, _ *reentrant.Lock) { v.pass(7 * lease) },
}

// stillLost has every call that takes the lock tell the owner that it has lost it, though somebody
// else has had it in between and given it back.
func stillLost(t *testing.T, v *virtual, ctx context.Context, l, other *reentrant.Lock) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // not to wait for a release that comes after it
	defer cancel()
	for _, busy := range []bool{true, false} {
		theirs := owner(v.ctx, "somebody else")
		if busy {
			must(t, other.Lock(theirs))
		}
		for name, lock := range waysToLock {
			if err := lock(ctx, l); !isLost(err) {
				t.Errorf("%s, taken by another %v: %v, want ErrLost alone", name, busy, err)
			}
		}
		if busy {
			must(t, other.Unlock(theirs))
		}
	}
}

func isLost(err error) bool { _, lost := err.(*reentrant.LostError); return lost }

// An owner that has lost a lock, which the watchdog has found, hears so from its nested calls until it
// has unlocked as often as it had locked; then it may take the lock again.
func TestTimeNestedLockAfterAKnownLoss(t *testing.T) {
	for how, lose := range waysToLose {
		for _, mode := range []reentrant.Handoff{reentrant.Confirmed, reentrant.Remote, reentrant.WriteBehind} {
			for _, named := range []bool{true, false} {
				t.Run(fmt.Sprint(how, " ", mode, " named ", named), func(t *testing.T) {
					inVirtualTime(t, func(t *testing.T, v *virtual) {
						ctx := v.ctx
						if named {
							ctx = owner(v.ctx, "order 7")
						}
						l := v.client(reentrant.WithHandoff(mode), reentrant.WithMaxHold(5*lease)).NewLock("job")
						other := v.client().NewLock("job")
						must(t, l.Lock(ctx))
						must(t, l.LockLease(ctx, lease/2)) // inside a renewed hold, so it is no fixed lease that ran out
						must(t, l.Lock(ctx))
						lose(v, l)
						for range 3 {
							stillLost(t, v, ctx, l, other)
							wants(t, l.Unlock(ctx), reentrant.ErrLost)
						}
						wants(t, l.Unlock(ctx), reentrant.ErrNotHeld)
						for _, lock := range waysToLock {
							must(t, lock(ctx, l))
						}
					})
				})
			}
		}
	}
}

// The same under the ctx of a hold, which has ended by then, and one made from it that has not; and by
// handles, released in any order.
func TestTimeNestedLockUnderALostHold(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l, other := v.client().NewLock("job"), v.client().NewLock("job")
		outer, err := l.Acquire(v.ctx)
		must(t, err)
		inner, err := l.Acquire(outer.Context(), reentrant.WithFixedLease(lease/2))
		must(t, err)
		v.mini.Del("job")
		v.pass(lease / 2)
		lasting := context.WithoutCancel(outer.Context())
		wants(t, l.Lock(outer.Context()), reentrant.ErrLost)
		stillLost(t, v, lasting, l, other)
		wants(t, inner.Release(v.ctx), reentrant.ErrLost)
		stillLost(t, v, lasting, l, other) // the outer one was renewed
		wants(t, outer.Release(v.ctx), reentrant.ErrLost)
		must(t, l.Do(lasting, func(context.Context) error { return nil }))

		// Released the other way round: what is left was a fixed lease, and that has run out.
		outer, err = l.Acquire(v.ctx)
		must(t, err)
		_, err = l.Acquire(outer.Context(), reentrant.WithFixedLease(lease/2))
		must(t, err)
		v.mini.Del("job")
		v.pass(lease / 2)
		wants(t, outer.Release(v.ctx), reentrant.ErrLost)
		v.pass(lease)
		must(t, l.Do(lasting, func(context.Context) error { return nil }))
	})
}

// A Do inside a Do that has lost the lock does not run its function.
func TestTimeDoInsideALostDo(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client().NewLock("job")
		err := l.Do(v.ctx, func(ctx context.Context) error {
			v.mini.Del("job")
			v.pass(lease / 2)
			err := l.Do(context.WithoutCancel(ctx), func(context.Context) error {
				t.Error("run without the lock that the outer one had")
				return nil
			})
			if !isLost(err) {
				t.Errorf("inner Do: %v", err)
			}
			return nil
		})
		wants(t, err, reentrant.ErrLost)
		must(t, l.Do(v.ctx, func(context.Context) error { return nil }))
	})
}

// Fixed leases that run out are how some keep others out for a while. They are not unlocked, and
// taken anew any number of times; what each of them owes an Unlock for stays known.
func TestTimeFixedLeasesAreTakenAgain(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client().NewLock("job")
		for range 3 {
			must(t, l.LockLease(v.ctx, lease))
			v.pass(lease)
		}
		// A renewed hold upon them, lost: until it is unlocked, the owner hears of that.
		must(t, l.Lock(v.ctx))
		v.mini.Del("job")
		v.pass(lease / 2)
		stillLost(t, v, v.ctx, l, v.client().NewLock("job"))
		wants(t, l.Unlock(v.ctx), reentrant.ErrLost)
		must(t, l.LockLease(v.ctx, lease))
		v.pass(lease)
		for range 4 {
			wants(t, l.Unlock(v.ctx), reentrant.ErrLost)
		}
		wants(t, l.Unlock(v.ctx), reentrant.ErrNotHeld)
	})
}

// A fixed lease that was taken away before its end is believed in until then.
func TestTimeFixedLeaseTakenAway(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client().NewLock("job")
		const fixed = 10 * lease
		must(t, l.LockLease(v.ctx, fixed))
		_, err := l.ForceUnlock(v.ctx)
		must(t, err)
		v.pass(trusted(fixed) - time.Millisecond)
		stillLost(t, v, v.ctx, l, v.client().NewLock("job"))
		v.pass(time.Millisecond)
		must(t, l.LockLease(v.ctx, lease))
	})
}

// Its own, and not the loss of the owner that had the lock before, is what a holder by write-behind hears of.
func TestTimeBehindNestedLockAfterAKnownLoss(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l, other := v.client(locktest.WriteBehind).NewLock("job"), v.client().NewLock("job")
		first := owner(v.ctx, "first")
		hold, err := l.Acquire(first)
		must(t, err)
		holds, calls := waitInLine(v, l, 1)
		must(t, hold.Release(v.ctx))
		must(t, calls[0].wait())
		v.mini.FlushAll()
		v.pass(lease / 2)
		stillLost(t, v, owner(v.ctx, "0"), l, other)
		must(t, l.Do(first, func(context.Context) error { return nil }))
		wants(t, holds[0].Release(v.ctx), reentrant.ErrLost)
		must(t, l.Do(owner(v.ctx, "0"), func(context.Context) error { return nil }))
	})
}

// All that one Client has renewed may be lost at once, and fixed leases that run out meanwhile, any number of them,
// make it forget none of that.
func TestTimeManyLossesAreRemembered(t *testing.T) {
	t.Parallel()
	const many = 1500
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		lock := func(i int) *reentrant.Lock { return c.NewLock(fmt.Sprint("job ", i)) }
		for i := range many {
			must(t, lock(i).Lock(v.ctx))
		}
		v.mini.FlushAll()
		v.pass(lease)
		for i := range many {
			must(t, c.NewLock(fmt.Sprint("fixed ", i)).LockLease(v.ctx, time.Duration(100+i)*time.Millisecond)) // one after the other
		}
		v.pass(2 * lease)
		for i := range many {
			if err := lock(i).Lock(v.ctx); !isLost(err) {
				t.Fatalf("lock %d: %v", i, err)
			}
			wants(t, lock(i).Unlock(v.ctx), reentrant.ErrLost)
			if i%100 == 0 {
				must(t, lock(i).Do(v.ctx, func(context.Context) error { return nil }))
			}
		}
		// The fixed ones are bounded, by the newest.
		wants(t, c.NewLock("fixed 0").Unlock(v.ctx), reentrant.ErrNotHeld)
		wants(t, c.NewLock(fmt.Sprint("fixed ", many-1)).Unlock(v.ctx), reentrant.ErrLost)
	})
}

// A closed Client says that, and nothing else.
func TestTimeNestedLockAfterALossAndClose(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		l := c.NewLock("job")
		must(t, l.Lock(v.ctx))
		v.mini.Del("job")
		v.pass(lease / 2)
		must(t, c.Close(v.ctx)) // at once: nobody holds anything
		for _, lock := range waysToLock {
			wants(t, lock(v.ctx, l), reentrant.ErrNotAcquired, reentrant.ErrClosed)
		}
	})
}
