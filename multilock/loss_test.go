package multilock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// notedIn is how long it may take until a renewal finds that a lock is gone.
const notedIn = lease/3 + 50*time.Millisecond

func TestFault54AllLostWithOneMember(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		a, b := v.process(), v.process()
		la := a.all(t, name)
		hold, err := la.Acquire(v.ctx)
		must(t, err)
		v.s[1].restart()
		v.pass(notedIn)
		if !over(hold.Lost()) || hold.Context().Err() == nil {
			t.Error("not lost")
		}
		if hold.ValidUntil().After(time.Now()) {
			t.Error("still valid")
		}
		wants(t, context.Cause(hold.Context()), reentrant.ErrLost)
		v.wantHolders("---", name, a, b) // the rest is given back
		must(t, b.all(t, name).Lock(v.ctx))
		err = la.Unlock(v.ctx)
		wants(t, err, reentrant.ErrLost)
		var member *multilock.MemberError
		if !errors.As(err, &member) || member.Server != "10.0.0.2:6379" || !strings.Contains(err.Error(), "10.0.0.2:6379") {
			t.Errorf("does not say which server: %v", err)
		}
		wants(t, hold.Release(v.ctx), reentrant.ErrLost)
		wants(t, la.Unlock(v.ctx), reentrant.ErrNotHeld)
		v.wantHolders("BBB", name, a, b)
	})
}

// A silent server: the hold is lost at ValidUntil and not later.
func TestFault54AllLostInSilence(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		hold, err := v.process().all(t, name).Acquire(v.ctx)
		must(t, err)
		v.pass(lease / 2)
		end := v.s[2].silence()
		until := hold.ValidUntil()
		<-hold.Lost()
		if now := time.Now(); now.After(until) || until.Sub(now) > time.Millisecond {
			t.Errorf("lost %v before ValidUntil", until.Sub(now))
		}
		end()
		wants(t, hold.Release(v.ctx), reentrant.ErrLost)
		v.pass(2 * lease)
		v.wantHolders("---", name)
	})
}

func TestFault54QuorumSurvivesAMinority(t *testing.T) {
	inVirtualTime(t, 5, func(t *testing.T, v *virtual) {
		a, b := v.process(), v.process()
		hold, err := a.quorum(t, name).Acquire(v.ctx)
		must(t, err)
		v.s[0].refuse("ERR down")
		end := v.s[1].silence()
		v.pass(10 * lease)
		if over(hold.Lost()) || !hold.ValidUntil().After(time.Now()) {
			t.Fatal("lost with a minority")
		}
		states := hold.Members()
		for i, s := range states {
			if s.Held != (i > 1) {
				t.Errorf("%s: held %v, error %v", s.Server, s.Held, s.Err)
			}
		}
		if ok, err := b.quorum(t, name).TryLock(v.ctx, lease, 0); ok || err != nil {
			t.Errorf("another: %v, %v", ok, err)
		}
		// A third one.
		until := hold.ValidUntil()
		v.s[2].refuse("ERR down")
		<-hold.Lost()
		if time.Now().After(until) {
			t.Errorf("lost %v after ValidUntil", time.Since(until))
		}
		err = hold.Release(v.ctx)
		wants(t, err, reentrant.ErrLost)
		t.Log(err)
		v.pass(lease)
		v.s[0].refuse("")
		v.s[2].refuse("")
		end()
		v.pass(lease)
		v.wantHolders("-----", name, a, b)
	})
}

// Members that come back with their data are taken again, at once; so the hold outlives
// all of them, one after another.
func TestFault54MembersAreTakenAgain(t *testing.T) {
	inVirtualTime(t, 5, func(t *testing.T, v *virtual) {
		a := v.process()
		hold, err := a.quorum(t, name).Acquire(v.ctx)
		must(t, err)
		for round := range 3 {
			for _, s := range v.s {
				s.refuse("ERR down")
				v.pass(2 * lease)
				_ = s.Del(name)
				s.refuse("")
				v.pass(lease)
				if over(hold.Lost()) {
					t.Fatalf("lost in round %d by server %d: %v", round, s.number, hold.Release(v.ctx))
				}
				v.wantHolders("AAAAA", name, a)
			}
		}
		must(t, hold.Release(v.ctx))
		v.wantHolders("-----", name, a)
	})
}

// A hold with a fixed lease takes members again too, but for no longer than the rest.
func TestFixedLeaseIsNotProlonged(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		a := v.process()
		began := time.Now()
		hold, err := a.quorum(t, name).Acquire(v.ctx, reentrant.WithFixedLease(10*lease))
		must(t, err)
		for _, s := range v.s[:2] {
			s.replace()
			_ = s.Del(name)
			v.pass(lease)
			if over(hold.Lost()) || hold.Members()[s.number].Held {
				t.Errorf("server %d: %+v", s.number, hold.Members()[s.number])
			}
			v.pass(2 * lease)
			v.wantHolders("AAA", name, a)
		}
		<-hold.Lost()
		if took := time.Since(began); took > 10*lease || took < 9*lease {
			t.Errorf("lost after %v", took)
		}
		v.pass(lease)
		v.wantHolders("---", name, a)
		wants(t, hold.Release(v.ctx), reentrant.ErrLost)
	})
}

// A fixed lease that nobody unlocks keeps others out to its very end, and leaves nothing
// behind in the Clients.
func TestFixedLeaseWithoutUnlock(t *testing.T) {
	forBoth(t, 3, func(t *testing.T, v *virtual, lock func(fleet) *multilock.MultiLock) {
		a, b := v.process(), v.process()
		la, lb := lock(a), lock(b)
		const long = 10 * time.Second
		began := time.Now()
		must(t, la.LockLease(v.ctx, long))
		must(t, lb.Lock(as(v.ctx, "b")))
		if took := time.Since(began); took < long || took > long+lease {
			t.Errorf("free after %v", took)
		}
		must(t, lb.Unlock(as(v.ctx, "b")))
		for _, c := range a {
			wants(t, c.NewLock(name).Unlock(v.ctx), reentrant.ErrNotHeld)
		}
		wants(t, la.Unlock(v.ctx), reentrant.ErrLost)
	})
}

// A lease that is over before enough members have answered is no hold, and no loop.
func TestLeaseTooShort(t *testing.T) {
	forBoth(t, 3, func(t *testing.T, v *virtual, lock func(fleet) *multilock.MultiLock) {
		a := v.process()
		l := lock(a)
		began := time.Now()
		wants(t, l.LockLease(v.ctx, time.Millisecond), reentrant.ErrNotAcquired)
		if took := time.Since(began); took > lease {
			t.Errorf("took %v", took)
		}
		ok, err := l.TryLock(v.ctx, 0, time.Millisecond)
		if ok || err == nil {
			t.Errorf("got %v, %v", ok, err)
		}
	})
}

// The inner call could have a majority of its own, when the outer hold has none any more:
// between the two somebody else could have held the lock.
func TestAnotherMajorityUnderANestedCall(t *testing.T) {
	inVirtualTime(t, 5, func(t *testing.T, v *virtual) {
		a := v.process()
		l := a.quorum(t, name)
		v.s[3].refuse("ERR down")
		v.s[4].refuse("ERR down")
		must(t, l.Lock(v.ctx))
		v.s[0].FlushAll()
		v.s[1].FlushAll()
		v.s[3].refuse("")
		v.s[4].refuse("")
		wants(t, l.Lock(v.ctx), reentrant.ErrLost)
		wants(t, l.Unlock(v.ctx), reentrant.ErrLost)
		v.pass(lease)
		v.wantHolders("-----", name, a)
	})
}

// Another MultiLock of the same members is the same lock: what is lost is lost for it.
func TestLossUnderAnotherMultiLock(t *testing.T) {
	forBoth(t, 3, func(t *testing.T, v *virtual, lock func(fleet) *multilock.MultiLock) {
		a := v.process()
		must(t, lock(a).Lock(v.ctx))
		for _, s := range v.s {
			s.FlushAll()
		}
		wants(t, lock(a).Lock(v.ctx), reentrant.ErrLost, reentrant.ErrNotAcquired)
	})
}

// An owner that is inside a hold believes to have held the lock all along.
func TestLossUnderANestedCall(t *testing.T) {
	forBoth(t, 3, func(t *testing.T, v *virtual, lock func(fleet) *multilock.MultiLock) {
		a := v.process()
		l := lock(a)
		must(t, l.Lock(v.ctx))
		for _, s := range v.s {
			s.FlushAll()
		}
		wants(t, l.Lock(v.ctx), reentrant.ErrLost)
		v.pass(notedIn)
		v.wantHolders("---", name, a)
		wants(t, l.Lock(v.ctx), reentrant.ErrLost) // also when it is known, until it is unlocked
		wants(t, l.Unlock(v.ctx), reentrant.ErrLost)
		wants(t, l.Unlock(v.ctx), reentrant.ErrNotHeld)
		must(t, l.Lock(v.ctx))
		v.wantHolders("AAA", name, a)
		must(t, l.Unlock(v.ctx))
	})
}

func TestClientClosedUnderAHold(t *testing.T) {
	forBoth(t, 3, func(t *testing.T, v *virtual, lock func(fleet) *multilock.MultiLock) {
		a := v.process()
		l := lock(a)
		hold, err := l.Acquire(v.ctx)
		must(t, err)
		ctx, cancel := context.WithCancel(v.ctx)
		cancel()
		for _, c := range a[:2] {
			_ = c.Close(ctx)
		}
		v.pass(time.Millisecond)
		if !over(hold.Lost()) {
			t.Error("not lost")
		}
		wants(t, hold.Release(v.ctx), reentrant.ErrLost, reentrant.ErrClosed)
		wants(t, l.Lock(v.ctx), reentrant.ErrNotAcquired, reentrant.ErrClosed)
	})
}
