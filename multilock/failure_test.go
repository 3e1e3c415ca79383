package multilock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// limit is the default of WithMemberLimit with Clients of that lease.
const limit = lease / 10

// One member down: a lock that needs all fails early, says which, and leaves nothing.
func TestFault53AllWithAMemberDown(t *testing.T) {
	for down := range 3 {
		inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
			a := v.process()
			l := a.all(t, name)
			v.s[down].refuse("ERR down")
			began := time.Now()
			err := l.Lock(v.ctx)
			wants(t, err, reentrant.ErrNotAcquired)
			if took := time.Since(began); took > 3*limit {
				t.Errorf("took %v", took)
			}
			var e *multilock.NotAcquiredError
			if !errors.As(err, &e) || len(e.Members) != 1 || e.Members[0].Server != a[down].NewLock("").Member().Parts()[0].Server || e.Held != 2 {
				t.Errorf("%v", err)
			}
			v.wantHolders("---", name, a)

			v.s[down].refuse("")
			end := v.s[down].silence()
			began = time.Now()
			err = l.Lock(v.ctx)
			wants(t, err, reentrant.ErrNotAcquired, multilock.ErrNoAnswer)
			if errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("there was no deadline: %v", err)
			}
			if took := time.Since(began); took > 5*limit {
				t.Errorf("took %v", took)
			}
			ok, err := l.TryLock(v.ctx, 0, 0)
			if ok || err == nil {
				t.Errorf("a silent member is not a busy one: %v, %v", ok, err)
			}
			end()             // what was sent to it is done now
			v.pass(lease / 4) // and given back, which an expiry would take longer for
			v.wantHolders("---", name, a)
			must(t, l.Lock(v.ctx))
			must(t, l.Unlock(v.ctx))
		})
	}
}

// A minority down costs at most a member's limit the first time, and next to nothing
// when it is known.
func TestFault53QuorumWithAMinorityDown(t *testing.T) {
	for _, how := range []string{"refused", "silent"} {
		t.Run(how, func(t *testing.T) {
			inVirtualTime(t, 5, func(t *testing.T, v *virtual) {
				a := v.process()
				l := a.quorum(t, name)
				for _, s := range v.s[1:3] {
					if how == "refused" {
						s.refuse("ERR down")
					} else {
						defer s.silence()()
					}
				}
				for n := range 3 {
					began := time.Now()
					must(t, l.Lock(v.ctx))
					took := time.Since(began)
					if took > limit || n > 0 && took > limit/2 {
						t.Errorf("Lock %d took %v", n, took)
					}
					v.wantHolders("A--AA", name, a)
					began = time.Now()
					must(t, l.Unlock(v.ctx))
					if took := time.Since(began); took > limit {
						t.Errorf("Unlock %d took %v", n, took)
					}
				}
			})
		})
	}
}

// A majority down.
func TestFault53QuorumWithAMajorityDown(t *testing.T) {
	inVirtualTime(t, 5, func(t *testing.T, v *virtual) {
		a := v.process()
		l := a.quorum(t, name)
		ends := []func(){v.s[0].silence(), v.s[2].silence()}
		v.s[4].refuse("ERR down")
		began := time.Now()
		err := l.Lock(v.ctx)
		wants(t, err, reentrant.ErrNotAcquired, multilock.ErrNoAnswer)
		if took := time.Since(began); took > lease {
			t.Errorf("took %v", took)
		}
		v.wantHolders("-----", name, a)
		began = time.Now()
		ok, err := l.TryLock(v.ctx, 77*time.Millisecond, 0)
		if took := time.Since(began); ok || err == nil || took != 77*time.Millisecond {
			t.Errorf("%v, %v after %v", ok, err, took)
		}
		for _, end := range ends {
			end()
		}
		v.pass(lease / 4) // given back, which an expiry would take longer for
		v.wantHolders("-----", name, a)
	})
}

// A server that goes away while somebody waits does not end the wait at once.
func TestOutageDuringAWait(t *testing.T) {
	forBoth(t, 3, func(t *testing.T, v *virtual, lock func(fleet) *multilock.MultiLock) {
		a, b := v.process(), v.process()
		la, lb := lock(a), lock(b)
		must(t, la.Lock(v.ctx))
		waiter := begin(func() error { return lb.Lock(v.ctx) })
		v.pass(lease)
		for _, s := range v.s {
			s.refuse("LOADING just a moment")
		}
		v.pass(lease / 3)
		for _, s := range v.s {
			s.refuse("")
		}
		v.pass(lease)
		if over(waiter.done) {
			t.Fatal(waiter.err)
		}
		must(t, la.Unlock(v.ctx))
		<-waiter.done
		must(t, waiter.err)
		v.pass(limit + time.Millisecond) // a quorum may have come before the last release
		v.wantHolders("BBB", name, a, b)
	})
}

// Unlock goes on after an error, and says which server it was.
func TestFault56UnlockWithAMemberDown(t *testing.T) {
	for down := range 3 {
		inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
			a := v.process()
			all := a.all(t, "silent")
			must(t, all.Lock(v.ctx))
			defer v.s[down].silence()()
			ctx, cancel := context.WithTimeout(v.ctx, limit)
			defer cancel()
			began := time.Now()
			wants(t, all.Unlock(ctx), reentrant.ErrUnconfirmed)
			if took := time.Since(began); took > limit {
				t.Errorf("took %v", took)
			}
			want := []byte("---")
			want[down] = 'A'
			v.wantHolders(string(want), "silent", a)
		})
		inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
			a := v.process()
			all, quorum := a.all(t, "all"), a.quorum(t, "quorum")
			must(t, all.Lock(v.ctx))
			must(t, quorum.Lock(v.ctx))
			v.s[down].refuse("ERR down")
			must(t, quorum.Unlock(v.ctx)) // the majority has confirmed
			err := all.Unlock(v.ctx)
			wants(t, err, reentrant.ErrUnconfirmed)
			var e *multilock.ReleaseError
			if !errors.As(err, &e) || e.Confirmed != 2 || len(e.Members) != 1 {
				t.Errorf("%v", err)
			}
			want := []byte("---")
			want[down] = 'A'
			v.wantHolders(string(want), "all", a)
			v.s[down].refuse("")
			v.pass(2 * lease)
			v.wantHolders("---", "all", a)
			v.wantHolders("---", "quorum", a)
		})
	}
}

// ctx ends a call at once, whatever the servers do.
func TestCancel(t *testing.T) {
	forBoth(t, 3, func(t *testing.T, v *virtual, lock func(fleet) *multilock.MultiLock) {
		a, b := v.process(), v.process()
		la, lb := lock(a), lock(b)
		cause := errors.New("enough")
		try := func(what string) {
			t.Helper()
			ctx, cancel := context.WithCancelCause(v.ctx)
			p := begin(func() error { return lb.Lock(ctx) })
			v.pass(limit/2 - time.Millisecond)
			cancelled := time.Now()
			cancel(cause)
			<-p.done
			if took := p.at.Sub(cancelled); took > 0 {
				t.Errorf("%s: took %v", what, took)
			}
			wants(t, p.err, reentrant.ErrNotAcquired, context.Canceled, cause)
		}
		must(t, la.Lock(v.ctx))
		try("while it is busy")
		must(t, la.Unlock(v.ctx))
		var ends []func()
		for _, s := range v.s[1:] {
			ends = append(ends, s.silence())
		}
		try("while servers are silent")
		for _, end := range ends {
			end()
		}
		v.pass(lease)
		v.wantHolders("---", name, a, b)
		ctx, cancel := context.WithCancel(v.ctx)
		cancel()
		for _, s := range v.s {
			s.commands("EVALSHA")
		}
		wants(t, lb.Lock(ctx), reentrant.ErrNotAcquired, context.Canceled)
		for _, s := range v.s {
			if n := s.commands("EVALSHA"); n > 0 {
				t.Error("something was sent after the end of ctx")
			}
		}
	})
}

// Calls that are cancelled and holds that are released at random leave nothing behind,
// while servers come and go.
func TestStorm(t *testing.T) {
	forBoth(t, 5, func(t *testing.T, v *virtual, lock func(fleet) *multilock.MultiLock) {
		seed := uint64(time.Now().UnixNano()) // the same in every bubble; the schedule is not
		random := rand.New(rand.NewPCG(seed, 0))
		var mu sync.Mutex
		draw := func(n time.Duration) time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return time.Duration(random.Int64N(int64(n)))
		}
		stop := make(chan struct{})
		trouble := begin(func() error {
			for !over(stop) {
				s := v.s[draw(5)]
				switch draw(3) {
				case 0:
					end := s.silence()
					time.Sleep(draw(lease))
					end()
				case 1:
					s.refuse("LOADING")
					time.Sleep(draw(lease))
					s.refuse("")
				case 2:
					s.restart()
				}
				time.Sleep(draw(lease / 2))
			}
			return nil
		})
		var history tenures
		var wg sync.WaitGroup
		processes := []fleet{v.process(), v.process(), v.process()}
		for n, f := range processes {
			l := lock(f)
			for range 3 {
				wg.Go(func() {
					for range 12 {
						ctx, cancel := context.WithTimeout(v.ctx, draw(2*lease))
						hold, err := l.Acquire(ctx)
						if err == nil {
							end := history.begin(string(rune('A'+n)), hold)
							select {
							case <-time.After(draw(lease)):
							case <-hold.Lost():
							}
							end()
							looker := begin(func() error {
								for range 3 {
									_, _, _ = hold.Members(), hold.Tokens(), hold.ValidUntil()
								}
								return nil
							})
							release, cancel := context.WithTimeout(v.ctx, draw(lease/4)+1)
							_ = hold.Release(release)
							cancel()
							<-looker.done
						}
						cancel()
					}
				})
			}
		}
		wg.Wait()
		close(stop)
		<-trouble.done
		synctest.Wait()
		v.pass(4 * lease)
		v.wantHolders("-----", name, processes...)
		t.Logf("%d holds of 108 calls", history.len())
		history.disjoint(t)
	})
}
