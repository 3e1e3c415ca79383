package multilock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// The classic: A holds 1, 2, 3; 3 restarts empty; B asks 3, 4, 5. It must be refused,
// also to a B that has never seen the old 3, for as long as A may trust in 3.
func TestFault57RestartedMemberIsNotCounted(t *testing.T) {
	inVirtualTime(t, 5, func(t *testing.T, v *virtual) {
		a := v.process()
		v.s[3].refuse("ERR down")
		v.s[4].refuse("ERR down")
		hold, err := a.quorum(t, name).Acquire(v.ctx)
		must(t, err)
		v.s[2].restart()
		v.s[3].refuse("")
		v.s[4].refuse("")
		restarted := time.Now()
		until := hold.ValidUntil()

		b := v.process()
		lb := b.quorum(t, name)
		ok, err := lb.TryLock(v.ctx, 0, 0)
		if ok || err == nil {
			t.Fatalf("granted: %v, %v", ok, err)
		}
		wants(t, err, multilock.ErrQuarantined)
		var q *multilock.QuarantineError
		if !errors.As(err, &q) || q.Server != "10.0.0.3:6379" || q.Left < lease {
			t.Errorf("%+v", q)
		}
		t.Log(err)
		// A renews nothing any more: it dies, and B gets it when A's trust is over.
		v.s[0].refuse("ERR down")
		v.s[1].refuse("ERR down")
		must(t, lb.Lock(v.ctx))
		took := time.Since(restarted)
		if !time.Now().After(until) || took < lease {
			t.Errorf("granted after %v, trusted until %v before", took, time.Since(until))
		}
		if took > lease+3*time.Second {
			t.Errorf("granted after %v only", took)
		}
		if !over(hold.Lost()) {
			t.Error("both hold it")
		}
		wants(t, hold.Release(v.ctx), reentrant.ErrLost)
		must(t, lb.Unlock(v.ctx))
	})
}

// A server that is restarted in the middle of an acquisition, whenever that is, is not
// counted. So the proof must come after the grant.
func TestFault57RestartDuringAcquisition(t *testing.T) {
	for _, at := range []string{"EVALSHA", "INFO"} {
		for _, nth := range []int{1, 2} {
			inVirtualTime(t, 5, func(t *testing.T, v *virtual) {
				a, b := v.process(), v.process()
				v.s[3].refuse("ERR down")
				v.s[4].refuse("ERR down")
				hold, err := a.quorum(t, name).Acquire(v.ctx)
				must(t, err)
				v.s[3].refuse("")
				v.s[4].refuse("")
				lb := b.quorum(t, name)
				seen := 0
				v.s[2].watch(func(cmd string) {
					if cmd != at {
						return
					}
					if seen++; seen == nth {
						v.s[2].restart()
					}
				})
				for range 3 {
					ok, err := lb.TryLock(v.ctx, 0, 0)
					if ok && !over(hold.Lost()) && hold.ValidUntil().After(time.Now()) {
						t.Errorf("restarted at %s %d: two hold it, %v", at, nth, err)
					}
				}
				_ = hold.Release(v.ctx)
			})
		}
	}
}

// The holder itself does not count a member that was restarted, and takes it again when
// the quarantine is over.
func TestFault57RestartedMemberIsTakenAgain(t *testing.T) {
	inVirtualTime(t, 5, func(t *testing.T, v *virtual) {
		a := v.process()
		hold, err := a.quorum(t, name).Acquire(v.ctx)
		must(t, err)
		v.pass(lease)
		v.s[2].restart()
		v.pass(lease)
		v.wantHolders("AA-AA", name, a)
		wants(t, hold.Members()[2].Err, multilock.ErrQuarantined)
		v.pass(3 * time.Second) // a lease, and uptimes that are cut to seconds
		v.wantHolders("AAAAA", name, a)
		must(t, hold.Release(v.ctx))
	})
}

// A server that is another one is not trusted, be it as old as it likes and even if it
// knows the lock: it may have been a replica, or restored from a copy.
func TestReplacedServer(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		a := v.process()
		hold, err := a.quorum(t, name).Acquire(v.ctx)
		must(t, err)
		v.s[1].replace()
		v.pass(notedIn)
		if m := hold.Members()[1]; m.Held || !errors.Is(m.Err, multilock.ErrQuarantined) {
			t.Errorf("trusted: %+v", m)
		}
		if over(hold.Lost()) {
			t.Error("lost")
		}
		v.pass(lease / 2)
		v.wantHolders("A-A", name, a)
		v.pass(lease)
		v.wantHolders("AAA", name, a)
		must(t, hold.Release(v.ctx))
	})
}

// What WithoutQuarantine does, and why its documentation says unsafe: the same steps as in
// TestFault57RestartedMemberIsNotCounted, and two owners who may both trust their hold.
func TestFault57WithoutQuarantineTwoHoldIt(t *testing.T) {
	inVirtualTime(t, 5, func(t *testing.T, v *virtual) {
		a, b := v.process(), v.process()
		v.s[3].refuse("ERR down")
		v.s[4].refuse("ERR down")
		var history tenures
		first, err := a.quorum(t, name, multilock.WithoutQuarantine()).Acquire(v.ctx)
		must(t, err)
		endFirst := history.begin("A", first)
		v.s[2].restart()
		v.s[3].refuse("")
		v.s[4].refuse("")
		second, err := b.quorum(t, name, multilock.WithoutQuarantine()).Acquire(v.ctx)
		must(t, err)
		endSecond := history.begin("B", second)
		v.pass(10 * time.Millisecond)
		endFirst()
		endSecond()
		if history.overlaps() == 0 {
			t.Error("the oracle does not see it")
		}
		_ = first.Release(v.ctx)
		must(t, second.Release(v.ctx))
	})
}

func TestFirstDeployment(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		for _, s := range v.s {
			s.restart()
		}
		began := time.Now()
		a := v.process()
		if ok, err := a.quorum(t, name, multilock.WithoutQuarantine()).TryLock(v.ctx, 0, 100*time.Millisecond); !ok || err != nil {
			t.Errorf("without quarantine: %v, %v", ok, err)
		}
		l := a.quorum(t, name)
		ok, err := l.TryLock(v.ctx, 500*time.Millisecond, 0)
		if ok {
			t.Error("granted by servers that know nothing")
		}
		wants(t, err, multilock.ErrQuarantined, reentrant.ErrNotAcquired)
		v.commands(nil) // from here on
		must(t, l.Lock(v.ctx))
		if took := time.Since(began); took < lease || took > lease+3*time.Second {
			t.Errorf("granted after %v", took)
		}
		if n := v.commands(nil); n > 100 {
			t.Errorf("%d commands while waiting for the end of the quarantine", n)
		}
		must(t, l.Unlock(v.ctx))
	})
}

// commands counts scripts and questions on all servers since the last call.
func (v *virtual) commands([]string) (n int) {
	for _, s := range v.s {
		n += s.commands("EVALSHA") + s.commands("INFO")
	}
	return n
}

// The longest lease that anybody has decides, not one's own.
func TestLongestLease(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		v.s[0].restart()
		v.s[1].restart()
		began := time.Now()
		l := v.process().quorum(t, name, multilock.WithLongestLease(time.Minute))
		must(t, l.Lock(v.ctx))
		if took := time.Since(began); took < time.Minute || took > 65*time.Second {
			t.Errorf("granted after %v", took)
		}
		must(t, l.Unlock(v.ctx))
	})
}

// A lease longer than the longest does no harm: the MultiLock trusts the servers' answers,
// and no longer than others stay away from a server that was restarted.
func TestTrustInAServerEnds(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		a := v.process()
		hold, err := a.quorum(t, name).Acquire(v.ctx, reentrant.WithFixedLease(time.Hour))
		must(t, err)
		v.pass(time.Minute)
		if left := time.Until(hold.ValidUntil()); left < lease/2 || left > lease {
			t.Errorf("trusted for %v more", left)
		}
		// A cannot see any more that two servers lose everything.
		v.s[0].silence()
		v.s[1].silence()
		asked := time.Now()
		<-hold.Lost()
		if took := time.Since(asked); took > lease {
			t.Errorf("trusted for %v", took)
		}
		for _, s := range v.s[:2] {
			s.mu.Lock()
			close(s.silent)
			s.silent = nil
			s.mu.Unlock()
		}
		wants(t, hold.Release(v.ctx), reentrant.ErrLost)
	})
}

// A server that does not say who it is is not counted.
func TestServerWithoutIdentity(t *testing.T) {
	inVirtualTime(t, 1, func(t *testing.T, v *virtual) {
		v.s[0].mu.Lock()
		v.s[0].mute = true
		v.s[0].mu.Unlock()
		a := v.process()
		_, err := a.quorum(t, name).TryLock(v.ctx, 0, 0)
		wants(t, err, reentrant.ErrNotAcquired)
		t.Log(err)
		v.wantHolders("-", name, a)
	})
}
