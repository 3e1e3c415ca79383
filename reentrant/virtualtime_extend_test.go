package reentrant_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

func fixedHold(t *testing.T, v *virtual, l *reentrant.Lock, d time.Duration) *reentrant.Hold {
	t.Helper()
	hold, err := l.Acquire(asHolder(t), reentrant.WithFixedLease(d))
	must(t, err)
	return hold
}

// Valid for d from the call, in Redis and for the holder, and lost at that end.
func TestTimeExtend(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		hold := fixedHold(t, v, v.client().NewLock("job"), lease)
		v.pass(lease / 2)
		const d = 3 * lease
		must(t, hold.Extend(v.ctx, d))
		if ttl := v.ttl("job"); ttl != d {
			t.Errorf("TTL %v", ttl)
		}
		if left := time.Until(hold.ValidUntil()); left != trusted(d) {
			t.Errorf("valid for %v", left)
		}
		v.pass(trusted(d) - time.Nanosecond)
		if hold.Context().Err() != nil {
			t.Fatal("lost too early")
		}
		v.pass(time.Nanosecond)
		if !ended(hold.Lost()) {
			t.Fatal("not lost")
		}
		wants(t, hold.Extend(v.ctx, d), reentrant.ErrLost)
		wants(t, hold.Release(v.ctx), reentrant.ErrLost)
	})
}

func TestTimeExtendNeverShortens(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		hold := fixedHold(t, v, v.client().NewLock("job"), time.Minute)
		before := hold.ValidUntil()
		must(t, hold.Extend(v.ctx, lease))
		if ttl := v.ttl("job"); ttl != time.Minute || !hold.ValidUntil().Equal(before) {
			t.Errorf("TTL %v, valid until %v, was %v", ttl, hold.ValidUntil(), before)
		}
	})
}

// What is refused sends nothing.
func TestTimeExtendRefused(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client().NewLock("job")
		renewed, err := l.Acquire(asHolder(t))
		must(t, err)
		inner := fixedHold(t, v, l, lease)
		v.scripts()
		wants(t, renewed.Extend(v.ctx, time.Minute), reentrant.ErrRenewed)
		wants(t, inner.Extend(v.ctx, 0), reentrant.ErrInvalidLease)
		wants(t, inner.Extend(v.ctx, 101*365*24*time.Hour), reentrant.ErrInvalidLease)
		over, cancel := context.WithCancel(v.ctx)
		cancel()
		wants(t, inner.Extend(over, time.Minute), reentrant.ErrNotExtended, context.Canceled)
		if n := v.scripts(); n != 0 {
			t.Errorf("%d scripts", n)
		}
		must(t, inner.Extend(v.ctx, time.Minute)) // as long as the renewal, and longer
		if ttl := v.ttl("job"); ttl != time.Minute || v.fields("job")[inner.Owner()] != "2" {
			t.Errorf("TTL %v, %v", ttl, v.fields("job"))
		}
		must(t, inner.Release(v.ctx))
		wants(t, inner.Extend(v.ctx, time.Minute), reentrant.ErrNotHeld)
		must(t, renewed.Release(v.ctx))
	})
}

// Redis does not answer: the validity is as before, and the lock is free when the hold is released or lost, though
// the command may have run.
func TestTimeExtendNotAnswered(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client().NewLock("job")
		hold := fixedHold(t, v, l, 10*lease)
		before := hold.ValidUntil()
		v.refuseAll("LOADING")
		err := hold.Extend(v.ctx, time.Hour)
		wants(t, err, reentrant.ErrNotExtended)
		var not *reentrant.NotExtendedError
		if !errors.As(err, &not) || !not.ValidUntil.Equal(before) || !hold.ValidUntil().Equal(before) {
			t.Errorf("%#v", err)
		}
		v.refuseAll("")
		must(t, hold.Extend(v.ctx, 20*lease))
		must(t, hold.Release(v.ctx))
	})
}

// The call ends with ctx, and what has run for nobody is cleaned up when the hold is lost.
func TestTimeExtendLeft(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client().NewLock("job")
		hold := fixedHold(t, v, l, lease)
		v.scriptsTake(2 * lease) // so that the answer comes after the loss
		ctx, cancel := context.WithTimeout(v.ctx, lease/10)
		defer cancel()
		began := time.Now()
		wants(t, hold.Extend(ctx, time.Hour), reentrant.ErrNotExtended, context.DeadlineExceeded)
		if d := time.Since(began); d != lease/10 {
			t.Errorf("returned after %v", d)
		}
		v.pass(3 * lease)
		v.onCommand(nil)
		if !ended(hold.Lost()) {
			t.Error("not lost")
		}
		v.pass(5 * lease)
		if v.mini.Exists("job") {
			t.Errorf("taken for %v", v.ttl("job"))
		}
	})
}

// The lock was lost, which Extend finds.
func TestTimeExtendLost(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		hold := fixedHold(t, v, v.client().NewLock("job"), time.Minute)
		v.mini.Del("job")
		wants(t, hold.Extend(v.ctx, time.Minute), reentrant.ErrLost)
		if v.mini.Exists("job") || !ended(hold.Lost()) {
			t.Error("taken anew, or not told")
		}
	})
}

// A fixed lease inside a hold that came by a write-behind hand-off, while the field in Redis is that of the owner before.
func TestTimeExtendBehind(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client(reentrant.WithHandoff(reentrant.WriteBehind)).NewLock("job")
		a, b := reentrant.WithOwner(v.ctx, "a"), reentrant.WithOwner(v.ctx, "b")
		must(t, l.Lock(a))
		next := begin(func() error { return l.Lock(b) })
		v.pass(time.Millisecond)
		must(t, l.Unlock(a))
		must(t, next.wait())
		inner, err := l.Acquire(b, reentrant.WithFixedLease(lease/2))
		must(t, err)
		must(t, inner.Extend(b, time.Minute))
		if fields := v.fields("job"); v.ttl("job") != time.Minute || fields[inner.Owner()] != "2" || len(fields) != 1 {
			t.Errorf("%v for %v", fields, v.ttl("job"))
		}
		must(t, inner.Release(b))
		must(t, l.Unlock(b))
		if v.mini.Exists("job") {
			t.Error("not free")
		}
	})
}

// By the hold's own ctx, which is how a program calls it.
func TestTimeExtendByItsOwnContext(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		hold := fixedHold(t, v, v.client().NewLock("job"), lease)
		for range 5 {
			v.pass(lease / 2)
			must(t, hold.Extend(hold.Context(), lease))
		}
		must(t, hold.Release(hold.Context()))
		if v.mini.Exists("job") {
			t.Error("not free")
		}
	})
}
