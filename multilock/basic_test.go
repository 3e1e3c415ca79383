package multilock_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// kinds are both kinds of MultiLock, for what is the same for them.
var kinds = []struct {
	name string
	make func(f fleet, t testing.TB, name string, opts ...multilock.Option) *multilock.MultiLock
}{
	{"All", fleet.all},
	{"Quorum", fleet.quorum},
}

func forBoth(t *testing.T, servers int, f func(t *testing.T, v *virtual, lock func(f fleet) *multilock.MultiLock)) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			inVirtualTime(t, servers, func(t *testing.T, v *virtual) {
				f(t, v, func(f fleet) *multilock.MultiLock { return kind.make(f, t, name) })
			})
		})
	}
}

func TestLockUnlock(t *testing.T) {
	forBoth(t, 5, func(t *testing.T, v *virtual, lock func(fleet) *multilock.MultiLock) {
		a, b := v.process(), v.process()
		la, lb := lock(a), lock(b)
		must(t, la.Lock(v.ctx))
		v.wantHolders("AAAAA", name, a, b)
		if ok, err := lb.TryLock(v.ctx, 0, 0); ok || err != nil {
			t.Errorf("TryLock of a lock that is held: %v, %v", ok, err)
		}
		began := time.Now()
		if ok, err := lb.TryLock(v.ctx, 700*time.Millisecond, 0); ok || err != nil {
			t.Errorf("TryLock of a lock that is held: %v, %v", ok, err)
		}
		if took := time.Since(began); took != 700*time.Millisecond {
			t.Errorf("TryLock took %v", took)
		}
		v.wantHolders("AAAAA", name, a, b)
		v.pass(10 * lease) // it is renewed
		v.wantHolders("AAAAA", name, a, b)
		waiter := begin(func() error { return lb.Lock(as(v.ctx, "b")) })
		v.pass(3 * lease)
		must(t, la.Unlock(v.ctx))
		<-waiter.done
		must(t, waiter.err)
		v.pass(limit + time.Millisecond) // a quorum may have come before the last release
		v.wantHolders("BBBBB", name, a, b)
		must(t, lb.Unlock(as(v.ctx, "b")))
		v.wantHolders("-----", name, a, b)
		wants(t, la.Unlock(v.ctx), reentrant.ErrNotHeld)
	})
}

func TestFixedLease(t *testing.T) {
	forBoth(t, 3, func(t *testing.T, v *virtual, lock func(fleet) *multilock.MultiLock) {
		a, b := v.process(), v.process()
		la, lb := lock(a), lock(b)
		began := time.Now()
		hold, err := la.Acquire(v.ctx, reentrant.WithFixedLease(5*time.Second))
		must(t, err)
		if got, want := hold.ValidUntil().Sub(began), 5*time.Second-52*time.Millisecond; got != want && la.Name() != "" {
			t.Logf("valid for %v", got)
		}
		<-hold.Lost()
		took := time.Since(began)
		if took > 5*time.Second || took < 4900*time.Millisecond {
			t.Errorf("lost after %v", took)
		}
		wants(t, context.Cause(hold.Context()), reentrant.ErrLost)
		wants(t, hold.Release(v.ctx), reentrant.ErrLost)
		wants(t, hold.Release(v.ctx), reentrant.ErrNotHeld)
		if ok, err := lb.TryLock(v.ctx, time.Second, time.Second); !ok || err != nil {
			t.Errorf("after the lease: %v, %v", ok, err)
		}
		must(t, lb.Unlock(v.ctx))
		wants(t, la.LockLease(v.ctx, 0), reentrant.ErrInvalidLease)
	})
}

func TestNested(t *testing.T) {
	forBoth(t, 3, func(t *testing.T, v *virtual, lock func(fleet) *multilock.MultiLock) {
		a := v.process()
		l := lock(a)
		for range 3 {
			must(t, l.Lock(v.ctx))
		}
		synctest.Wait()
		if n, err := a[0].NewLock(name).HoldCount(v.ctx); n != 3 || err != nil {
			t.Errorf("a member is held %d times, %v", n, err)
		}
		// Another MultiLock of the same members, and a member itself.
		other := lock(a)
		must(t, other.Lock(v.ctx))
		must(t, a[1].NewLock(name).Lock(v.ctx))
		must(t, a[1].NewLock(name).Unlock(v.ctx))
		must(t, other.Unlock(v.ctx))
		wants(t, other.Unlock(v.ctx), reentrant.ErrNotHeld)
		for range 3 {
			v.wantHolders("AAA", name, a)
			must(t, l.Unlock(v.ctx))
		}
		v.wantHolders("---", name, a)
	})
}

// The hold's ctx carries the owner to other goroutines; without it they are others.
func TestOwners(t *testing.T) {
	forBoth(t, 3, func(t *testing.T, v *virtual, lock func(fleet) *multilock.MultiLock) {
		l := lock(v.process())
		must(t, l.Do(v.ctx, func(ctx context.Context) error {
			inner := begin(func() error { return l.Do(ctx, func(context.Context) error { return nil }) })
			<-inner.done
			other := begin(func() error {
				if ok, err := l.TryLock(v.ctx, 0, 0); ok || err != nil {
					t.Errorf("another goroutine: %v, %v", ok, err)
				}
				return l.Unlock(v.ctx)
			})
			<-other.done
			wants(t, other.err, reentrant.ErrNotHeld)
			return inner.err
		}))
		wants(t, l.Lock(as(v.ctx, "")), reentrant.ErrInvalidOwner)
		wants(t, l.Unlock(as(v.ctx, "")), reentrant.ErrInvalidOwner)
	})
}

func TestDo(t *testing.T) {
	forBoth(t, 3, func(t *testing.T, v *virtual, lock func(fleet) *multilock.MultiLock) {
		a := v.process()
		l := lock(a)
		mine := errors.New("mine")
		wants(t, l.Do(v.ctx, func(context.Context) error { return mine }), mine)
		func() {
			defer func() {
				if r := recover(); r != "panic" {
					t.Errorf("recovered %v", r)
				}
			}()
			_ = l.Do(v.ctx, func(context.Context) error { panic("panic") })
		}()
		v.wantHolders("---", name, a)
		err := l.Do(v.ctx, func(ctx context.Context) error {
			for _, s := range v.s {
				s.FlushAll()
			}
			<-ctx.Done()
			return context.Cause(ctx)
		})
		wants(t, err, reentrant.ErrLost)
		var lost *multilock.LostError
		if !errors.As(err, &lost) || lost.Need == 0 || len(lost.Members) == 0 {
			t.Errorf("%v", err)
		}
		t.Log(err)
	})
}

func TestMembers(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		a := v.process()
		same, err := multilock.New(a[0].NewLock(name), a[1].NewLock(name), a[0].NewLock(name))
		if same != nil {
			t.Error("the same member twice was taken")
		}
		wants(t, err, multilock.ErrMembers)
		_, err = multilock.New()
		wants(t, err, multilock.ErrMembers)
		for _, none := range []multilock.Locker{nil, (*reentrant.Lock)(nil), (*multilock.MultiLock)(nil)} {
			_, err = multilock.NewQuorum(none)
			wants(t, err, multilock.ErrMembers)
		}
		var zero multilock.MultiLock
		wants(t, zero.Lock(v.ctx), multilock.ErrMembers)
		_, err = zero.TryLock(v.ctx, 0, 0)
		wants(t, err, multilock.ErrMembers)
		wants(t, zero.Unlock(v.ctx), reentrant.ErrNotHeld)
		_, err = multilock.New(a[0].NewLock(name), &zero)
		wants(t, err, multilock.ErrMembers)
		inner := a.all(t, name)
		_, err = multilock.New(inner, a[1].NewLock(name))
		wants(t, err, multilock.ErrMembers)
		l, err := multilock.New(a[0].NewLock("x"), a[0].NewLock("y"), a[1].NewLock("x"))
		must(t, err)
		if l.Name() != "x+y" {
			t.Errorf("name is %s", l.Name())
		}
		must(t, l.Lock(v.ctx))
		must(t, l.Unlock(v.ctx))

		_, err = multilock.NewWith(a.locks(name), multilock.WithoutQuarantine())
		wants(t, err, reentrant.ErrInvalidOption)
		_, err = multilock.NewQuorumWith(a.locks(name), multilock.WithLongestLease(lease-1))
		wants(t, err, reentrant.ErrInvalidOption)
		_, err = multilock.NewQuorumWith(a.locks(name), multilock.WithLongestLease(math.MaxInt64))
		wants(t, err, reentrant.ErrInvalidOption)
		_, err = multilock.NewQuorumWith(a.locks(name), multilock.WithMemberLimit(0))
		wants(t, err, reentrant.ErrInvalidOption)
		bad, err := multilock.New(a[0].NewLock("a{b"), a[1].NewLock(name))
		must(t, err)
		wants(t, bad.Lock(v.ctx), reentrant.ErrInvalidName)
	})
}

func TestMultiLockOfMultiLocks(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		a, b := v.process(), v.process()
		build := func(f fleet) *multilock.MultiLock {
			accounts := []multilock.Locker{}
			for _, account := range []string{"from", "to"} {
				accounts = append(accounts, f.quorum(t, account))
			}
			l, err := multilock.New(accounts...)
			must(t, err)
			return l
		}
		la, lb := build(a), build(b)
		hold, err := la.Acquire(v.ctx)
		must(t, err)
		if got := len(hold.Tokens()); got != 6 {
			t.Errorf("%d tokens, want 6", got)
		}
		v.wantHolders("AAA", "from", a, b)
		v.wantHolders("AAA", "to", a, b)
		must(t, la.Lock(v.ctx))
		if ok, err := lb.TryLock(v.ctx, time.Second, 0); ok || err != nil {
			t.Errorf("got %v, %v", ok, err)
		}
		if ok, err := b.quorum(t, "to").TryLock(v.ctx, time.Second, 0); ok || err != nil {
			t.Errorf("got %v, %v", ok, err)
		}
		must(t, la.Unlock(v.ctx))
		waiter := begin(func() error { return lb.Lock(as(v.ctx, "b")) })
		v.pass(lease)
		must(t, hold.Release(v.ctx))
		<-waiter.done
		must(t, waiter.err)
		v.pass(limit + time.Millisecond) // a quorum may have come before the last release
		v.wantHolders("BBB", "from", a, b)
		v.wantHolders("BBB", "to", a, b)
		for _, s := range v.s {
			_ = s.Del("to")
		}
		v.pass(lease)
		wants(t, lb.Unlock(as(v.ctx, "b")), reentrant.ErrLost)
		v.wantHolders("---", "from", a, b)
	})
}
