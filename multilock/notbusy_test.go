package multilock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// A caller that takes every "false, nil" for "somebody else does it" would skip work that
// nobody does.

// The error of a hold that is lost says why its members were: one of them was busy. That
// does not make the lock busy for the call that is nested in the hold.
func TestLostHoldIsNotBusy(t *testing.T) {
	inVirtualTime(t, 4, func(t *testing.T, v *virtual) {
		a, b := v.process(), v.process()
		must(t, b[2].NewLock(name).Lock(v.ctx))
		inner, err := multilock.New(a[2].NewLock(name), a[3].NewLock(name))
		must(t, err)
		l, err := multilock.NewQuorum(a[0].NewLock(name), a[1].NewLock(name), inner)
		must(t, err)
		ctx := as(v.ctx, "owner")
		hold, err := l.Acquire(ctx)
		must(t, err)
		v.s[0].FlushAll()
		ok, err := l.TryLock(ctx, 0, 0)
		if ok {
			t.Error("granted under a hold that is lost")
		}
		wants(t, err, reentrant.ErrLost)
		wants(t, hold.Release(v.ctx), reentrant.ErrLost)
		must(t, b[2].NewLock(name).Unlock(v.ctx))
	})
}

// The same with the lost hold being that on a member which is a MultiLock itself.
func TestMemberThatIsLostIsNotBusy(t *testing.T) {
	inVirtualTime(t, 4, func(t *testing.T, v *virtual) {
		a, b := v.process(), v.process()
		must(t, b[2].NewLock(name).Lock(v.ctx))
		inner := a[:3].quorum(t, name)
		l, err := multilock.New(inner, a[3].NewLock(name))
		must(t, err)
		ctx := as(v.ctx, "owner")
		hold, err := inner.Acquire(ctx)
		must(t, err)
		v.s[0].FlushAll()
		ok, err := l.TryLock(ctx, 0, 0)
		if ok {
			t.Error("granted with a member that is lost")
		}
		wants(t, err, reentrant.ErrLost, reentrant.ErrNotAcquired)
		wants(t, hold.Release(v.ctx), reentrant.ErrLost)
		must(t, b[2].NewLock(name).Unlock(v.ctx))
	})
}

// When servers have been silent for most of the wait, the lock is not busy at its end, whatever they
// answered before. A plain lock decides the same.
func TestSilenceAtTheLimitIsNotBusy(t *testing.T) {
	const wait = 10 * time.Second
	for _, servers := range []int{1, 3} {
		forBoth(t, servers, func(t *testing.T, v *virtual, lock func(fleet) *multilock.MultiLock) {
			a, b, c := v.process(), v.process(), v.process(0)
			hold, err := lock(a).Acquire(v.ctx)
			must(t, err)
			began := time.Now()
			try := func(l interface {
				TryLock(ctx context.Context, wait, lease time.Duration) (bool, error)
			}) *pending {
				return begin(func() error {
					ok, err := l.TryLock(as(v.ctx, "rival"), wait, 0)
					if ok || err == nil {
						t.Errorf("%d servers: TryLock = %v, %v after %v of silence", servers, ok, err, time.Since(began))
					}
					return err
				})
			}
			rivals := []*pending{try(lock(b)), try(c[0].NewLock(name))}
			v.pass(lease / 5)
			var ends []func()
			for _, s := range v.s {
				ends = append(ends, s.silence())
			}
			for _, rival := range rivals {
				<-rival.done
				wants(t, rival.err, reentrant.ErrNotAcquired)
				if took := rival.at.Sub(began); took != wait {
					t.Errorf("took %v", took)
				}
			}
			for _, end := range ends {
				end()
			}
			wants(t, hold.Release(v.ctx), reentrant.ErrLost)
		})
	}
}

// A minority of silent servers is no reason not to believe the others.
func TestBusyBesideASilentMinority(t *testing.T) {
	for silent := range 5 { // one of them is the member that is waited for
		inVirtualTime(t, 5, func(t *testing.T, v *virtual) {
			hold, err := v.process().quorum(t, name).Acquire(v.ctx)
			must(t, err)
			rival := begin(func() error {
				ok, err := v.process().quorum(t, name).TryLock(as(v.ctx, "rival"), 10*time.Second, 0)
				if ok || err != nil {
					t.Errorf("server %d silent: TryLock = %v, %v", silent, ok, err)
				}
				return err
			})
			v.pass(lease / 5)
			end := v.s[silent].silence()
			<-rival.done
			end()
			must(t, hold.Release(v.ctx))
		})
	}
}

// A quorum that is busy is waited for by a lock that it is a member of, also when one of
// its own members can never be had.
func TestBusyQuorumAsAMemberIsWaitedFor(t *testing.T) {
	inVirtualTime(t, 4, func(t *testing.T, v *virtual) {
		a, b := v.process(), v.process()
		held := a[:3].quorum(t, name)
		must(t, held.Lock(v.ctx))
		must(t, b[2].Close(v.ctx))
		l, err := multilock.New(b[:3].quorum(t, name), b[3].NewLock(name))
		must(t, err)
		if ok, err := l.TryLock(v.ctx, 0, 0); ok || err != nil {
			t.Errorf("TryLock = %v, %v", ok, err)
		}
		waiter := begin(func() error { return l.Lock(as(v.ctx, "waiter")) })
		v.pass(3 * lease)
		if over(waiter.done) {
			t.Fatalf("did not wait: %v", waiter.err)
		}
		must(t, held.Unlock(v.ctx))
		<-waiter.done
		must(t, waiter.err)
		must(t, l.Unlock(as(v.ctx, "waiter")))
	})
}
