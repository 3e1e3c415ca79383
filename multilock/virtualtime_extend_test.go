package multilock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// Valid for d from the call on every server and for the holder, whose monitor does not end it at the
// first end.
func TestExtend(t *testing.T) {
	forBoth(t, 3, func(t *testing.T, v *virtual, lock func(fleet) *multilock.MultiLock) {
		hold, err := lock(v.process()).Acquire(as(v.ctx, "x"), reentrant.WithFixedLease(lease))
		must(t, err)
		const d = 20 * lease
		for range 3 {
			v.pass(lease / 2)
			must(t, hold.Extend(hold.Context(), lease))
		}
		must(t, hold.Extend(v.ctx, d))
		must(t, hold.Extend(v.ctx, lease)) // never shortened
		valid := d - d/100 - 2*time.Millisecond
		v.pass(valid - time.Millisecond)
		if err := hold.Context().Err(); err != nil {
			t.Fatalf("ended early: %v", hold.Extend(v.ctx, d))
		}
		v.pass(time.Millisecond)
		wants(t, hold.Extend(v.ctx, d), reentrant.ErrLost)
		wants(t, hold.Release(v.ctx), reentrant.ErrLost)
		wants(t, hold.Extend(v.ctx, d), reentrant.ErrLost)
	})
}

func TestExtendRefused(t *testing.T) {
	forBoth(t, 3, func(t *testing.T, v *virtual, lock func(fleet) *multilock.MultiLock) {
		l := lock(v.process())
		hold, err := l.Acquire(as(v.ctx, "x"))
		must(t, err)
		wants(t, hold.Extend(v.ctx, lease), reentrant.ErrRenewed)
		wants(t, hold.Extend(v.ctx, 0), reentrant.ErrInvalidLease)
		must(t, hold.Release(v.ctx))
		wants(t, hold.Extend(v.ctx, lease), reentrant.ErrNotHeld)
	})
}

// A quorum is valid as long as the majority that has confirmed; fewer are not enough.
func TestExtendMinoritySilent(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		hold, err := v.process().quorum(t, name, multilock.WithoutQuarantine()).Acquire(as(v.ctx, "x"), reentrant.WithFixedLease(10*lease))
		must(t, err)
		v.s[0].refuse("LOADING")
		began := time.Now()
		must(t, hold.Extend(v.ctx, 20*lease))
		if left := hold.ValidUntil().Sub(began); left < 19*lease {
			t.Errorf("valid for %v", left)
		}
		before := hold.ValidUntil()
		v.s[1].refuse("LOADING")
		err = hold.Extend(v.ctx, 100*lease)
		var not *multilock.NotExtendedError
		wants(t, err, reentrant.ErrNotExtended)
		if !errors.As(err, &not) || not.Confirmed != 1 || not.Need != 2 || len(not.Members) != 2 {
			t.Errorf("%#v", err)
		}
		if !hold.ValidUntil().Equal(before) || hold.Context().Err() != nil {
			t.Errorf("valid until %v, was %v", hold.ValidUntil(), before)
		}
		v.s[0].refuse("")
		v.s[1].refuse("")
		must(t, hold.Release(v.ctx))
	})
}
