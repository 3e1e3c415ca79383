package multilock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// A release ends the ctx of its hold, and is not ended by that: the hold's own ctx will do, and
// one made from it, whose deadline holds.
func TestReleaseWithACtxFromTheHold(t *testing.T) {
	forBoth(t, 3, func(t *testing.T, v *virtual, lock func(fleet) *multilock.MultiLock) {
		l := lock(v.process())
		hold, err := l.Acquire(v.ctx)
		must(t, err)
		must(t, hold.Release(hold.Context()))

		hold, err = l.Acquire(v.ctx)
		must(t, err)
		ctx, cancel := context.WithTimeout(hold.Context(), 10*lease)
		defer cancel()
		must(t, hold.Release(ctx))

		hold, err = l.Acquire(v.ctx)
		must(t, err)
		for _, s := range v.s {
			defer s.silence()()
		}
		short, cancel := context.WithTimeout(hold.Context(), lease/10)
		defer cancel()
		began := time.Now()
		wants(t, hold.Release(short), reentrant.ErrUnconfirmed)
		if took := time.Since(began); took > lease/10 {
			t.Errorf("took %v", took)
		}
	})
}

// A member is silent while an inner hold is released, and another one is lost: the inner release
// tells of the loss, as no outer hold goes on.
func TestInnerReleaseUnderALoss(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		a := v.processWith(nil, reentrant.WithLease(30*time.Second))
		l := a.all(t, name)
		outer, err := l.Acquire(as(v.ctx, "x"))
		must(t, err)
		var speak func()
		do := begin(func() error {
			return l.Do(outer.Context(), func(context.Context) error { speak = v.s[2].silence(); return nil })
		})
		v.pass(500 * time.Millisecond)
		_, err = a[0].NewLock(name).ForceUnlock(v.ctx)
		must(t, err)
		<-do.done
		wants(t, do.err, reentrant.ErrLost)
		if !over(outer.Lost()) {
			t.Error("the outer hold is not told")
		}
		speak()
		v.pass(time.Second)
	})
}

// An outer hold had two members of three, the inner one has all. A member that both have is lost:
// the outer hold is lost with it, which its owner is told. The inner one goes on with two, is held to
// its end, and is the last. Its release is not confirmed.
func TestReleaseAfterAnOlderLoss(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		a := v.process()
		l := a.quorum(t, name)
		ctx := as(v.ctx, "x")
		v.s[2].refuse("ERR down")
		outer, err := l.Acquire(ctx)
		must(t, err)
		v.s[2].refuse("")
		inner, err := l.Acquire(ctx)
		must(t, err)
		_, err = a[1].NewLock(name).ForceUnlock(v.ctx)
		must(t, err)
		v.pass(time.Millisecond)
		wants(t, outer.Release(v.ctx), reentrant.ErrLost) // told, and over
		v.pass(10 * lease)
		if over(inner.Lost()) {
			t.Fatal("the inner hold is lost")
		}
		speak := []func(){v.s[0].silence(), v.s[1].silence()}
		short, cancel := context.WithTimeout(v.ctx, lease/10)
		defer cancel()
		err = inner.Release(short)
		wants(t, err, reentrant.ErrUnconfirmed)
		if errors.Is(err, reentrant.ErrLost) {
			t.Errorf("held to its end (lost: %v), and Release says: %v", over(inner.Lost()), err)
		}
		for _, f := range speak {
			f()
		}
		v.pass(10 * lease)
	})
}
