package multilock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

func wantBusy(t *testing.T, ctx context.Context, l *multilock.MultiLock) {
	t.Helper()
	if ok, err := l.TryLock(ctx, 0, 0); ok || err != nil {
		t.Errorf("TryLock: %v, %v, want busy", ok, err)
	}
}

// Every member stays taken until d after the call, by nobody, and who waits has the lock then.
func TestReleaseAfter(t *testing.T) {
	forBoth(t, 3, func(t *testing.T, v *virtual, lock func(fleet) *multilock.MultiLock) {
		a := v.process()
		l, other := lock(a), lock(v.process())
		ctx := as(v.ctx, "x")
		hold, err := l.Acquire(ctx)
		must(t, err)
		v.pass(lease / 2)
		const d = 10 * lease
		must(t, hold.ReleaseAfter(v.ctx, d))
		freed := time.Now().Add(d)
		if cause := context.Cause(hold.Context()); !errors.Is(cause, reentrant.ErrReleased) {
			t.Errorf("the hold's ctx ended by %v", cause)
		}
		wants(t, hold.Release(v.ctx), reentrant.ErrNotHeld)
		wantBusy(t, ctx, l)
		v.wantHolders("AAA", name, a)
		granted := make(chan time.Time, 1)
		go func() {
			must(t, other.Lock(v.ctx))
			at := time.Now()
			must(t, other.Unlock(v.ctx))
			granted <- at
		}()
		v.pass(d - 20*time.Millisecond)
		v.wantHolders("AAA", name, a)
		if late := (<-granted).Sub(freed); late < 0 || late > 50*time.Millisecond {
			t.Errorf("granted %v after the end", late)
		}
	})
}

// A hold on the lock, or on a member alone, that is nested in this one or around it: refused, and
// nothing has changed.
func TestReleaseAfterNested(t *testing.T) {
	forBoth(t, 3, func(t *testing.T, v *virtual, lock func(fleet) *multilock.MultiLock) {
		a := v.process()
		l, ctx := lock(a), as(v.ctx, "x")
		hold, err := l.Acquire(ctx)
		must(t, err)
		must(t, l.Lock(ctx))
		wants(t, hold.ReleaseAfter(v.ctx, time.Minute), reentrant.ErrNested)
		must(t, l.Unlock(ctx))
		member := a[1].NewLock(name)
		must(t, member.Lock(ctx))
		wants(t, hold.ReleaseAfter(v.ctx, time.Minute), reentrant.ErrNested)
		must(t, member.Unlock(ctx))
		v.pass(10 * lease)
		if err := hold.Context().Err(); err != nil {
			t.Errorf("the hold has ended: %v", err)
		}
		must(t, hold.ReleaseAfter(v.ctx, 0))
		v.wantHolders("---", name)
	})
}

// A majority is enough for a quorum, and no other is to be had before the end.
func TestReleaseAfterMinoritySilent(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		l := v.process().quorum(t, name)
		hold, err := l.Acquire(as(v.ctx, "x"))
		must(t, err)
		end := v.s[0].silence()
		must(t, hold.ReleaseAfter(v.ctx, time.Minute))
		end()
		v.pass(5 * lease)
		wantBusy(t, v.ctx, v.process().quorum(t, name))
		for i, s := range v.s {
			if ttl := s.TTL(name); ttl > time.Minute || ttl < time.Minute-20*lease {
				t.Errorf("server %d: %v", i, ttl)
			}
		}
	})
}

// MultiLock in MultiLock.
func TestReleaseAfterInner(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		a := v.process()
		outer, err := multilock.New(a[:2].all(t, name), a[2].NewLock(name))
		must(t, err)
		hold, err := outer.Acquire(as(v.ctx, "x"))
		must(t, err)
		must(t, hold.ReleaseAfter(v.ctx, time.Minute))
		v.pass(time.Minute - time.Millisecond)
		v.wantHolders("AAA", name, a)
		v.pass(time.Millisecond)
		v.wantHolders("---", name)
	})
}
