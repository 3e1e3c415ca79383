package multilock_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
	"github.com/redlatch/redlatch/watchdog"
)

// A server that says who it is may be restarted before its answer arrives. So a quorum
// trusts it from before the question was sent, at the grant and at each maintenance.
func TestMutantTrustCountsFromTheQuestion(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		const slow = lease / 20 // within the members' limit
		var mu sync.Mutex
		var asked time.Time // the last that any server was
		for _, s := range v.s {
			s.watch(func(cmd string) {
				if cmd == "INFO" {
					mu.Lock()
					asked = time.Now()
					mu.Unlock()
					time.Sleep(slow)
				}
			})
		}
		// With a lease of an hour the trust in the servers is what ends the hold.
		hold, err := v.process().quorum(t, name).Acquire(v.ctx, reentrant.WithFixedLease(time.Hour))
		must(t, err)
		for range 20 {
			mu.Lock()
			most := watchdog.Validity(asked, lease)
			mu.Unlock()
			if until := hold.ValidUntil(); until.After(most) {
				t.Fatalf("trusted for %v longer than the servers' answers allow", until.Sub(most))
			}
			v.pass(lease / 10)
		}
		must(t, hold.Release(v.ctx))
	})
}

// A member is lost while the call still asks another: the call has not got the lock of
// all, however long the lost lease would have been valid.
func TestMutantMemberThatHasEndedDoesNotCount(t *testing.T) {
	inVirtualTime(t, 2, func(t *testing.T, v *virtual) {
		a := v.process()
		var once sync.Once
		v.s[1].watch(func(cmd string) {
			if cmd != "EVALSHA" {
				return
			}
			once.Do(func() {
				time.Sleep(lease / 50) // the first member is granted meanwhile
				v.wantHolders("A-", name, a)
				if freed, err := a[0].NewLock(name).ForceUnlock(v.ctx); !freed || err != nil {
					t.Errorf("ForceUnlock: %v, %v", freed, err)
				}
			})
		})
		l := a.all(t, name)
		if ok, err := l.TryLock(v.ctx, 0, 0); ok || err == nil {
			t.Errorf("TryLock: %v, %v, and one of two members is lost", ok, err)
		}
		v.pass(lease / 10)
		v.wantHolders("--", name, a)
		must(t, l.Lock(v.ctx))
		must(t, l.Unlock(v.ctx))
	})
}

// The members were granted slowly, but within their limit, and then one falls silent. A
// release has the confirmations that it needs at once, and waits for that one for a limit
// and not for several times what the grants took.
func TestMutantGraceIsBounded(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		const limit = lease / 10
		l := v.process().quorum(t, name)
		must(t, l.Lock(v.ctx)) // the servers know the scripts
		must(t, l.Unlock(v.ctx))
		for _, s := range v.s {
			s.watch(func(cmd string) {
				if cmd == "EVALSHA" || cmd == "INFO" {
					time.Sleep(limit * 8 / 10)
				}
			})
		}
		hold, err := l.Acquire(v.ctx)
		must(t, err)
		for _, s := range v.s {
			s.watch(nil)
		}
		v.pass(lease / 20)
		speak := v.s[2].silence()
		synctest.Wait()
		began := time.Now()
		must(t, hold.Release(v.ctx))
		if took := time.Since(began); took > limit {
			t.Errorf("Release took %v, want at most the members' limit of %v", took, limit)
		}
		speak()
	})
}

// Redis counts its uptime between two instants that it has cut to seconds, so right after
// its start it may answer 1 s. A server is not counted sooner for that.
func TestMutantUptimeIsCutToSeconds(t *testing.T) {
	inVirtualTime(t, 1, func(t *testing.T, v *virtual) {
		l := v.process().quorum(t, name)
		s := v.s[0]
		s.restart()
		restarted := time.Now()
		s.mu.Lock()
		s.started = restarted.Add(time.Millisecond - time.Second)
		s.mu.Unlock()
		v.pass(time.Millisecond)
		for {
			ok, err := l.TryLock(v.ctx, 0, 0)
			if ok {
				break
			}
			wants(t, err, multilock.ErrQuarantined)
			v.pass(lease / 100)
		}
		if took := time.Since(restarted); took < lease {
			t.Errorf("counted %v after its restart, and a lease is %v", took, lease)
		}
		must(t, l.Unlock(v.ctx))
	})
}
