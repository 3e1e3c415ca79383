package faulttests

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// warmFor has the server learn the scripts of a kind, renewal included: one that runs late as EVALSHA and is not known would
// change nothing for that reason.
func (r *faultRig) warmFor(t *testing.T, k locktest.Kind) *faultRig {
	t.Helper()
	c := faultClient(t, r.Client(t), reentrant.WithLease(600*time.Millisecond))
	me := owner(t.Context(), "me")
	for _, l := range []*reentrant.Lock{k.Held(c, "warm"), k.Rival(c, "warm")} {
		for range 2 {
			must(t, l.Lock(me))
		}
		before := c.Stats().Renewals
		redistest.Eventually(t, 10*time.Second, "it is renewed", func() bool { return c.Stats().Renewals > before })
		must(t, l.Unlock(me))
		must(t, l.Unlock(me))
	}
	return r
}

// wantFree checks that nobody holds lock l, and that nobody is in its line.
func (r *faultRig) wantFree(t *testing.T, when string) {
	t.Helper()
	if left := r.held(t, "l"); len(left) > 0 {
		t.Errorf("%s: a lock appeared: %v", when, left)
	}
	if n := locktest.Fair.Waiting(t, r.Server, "l"); n > 0 {
		t.Errorf("%s: %d are in the line", when, n)
	}
}

// Acquire, release and count reach Redis after their call has ended, and after the same owner has come and gone.
// They change nothing, and no ticket of a call that has left stays in the line.
func TestFault19KindsLate(t *testing.T) {
	t.Parallel()
	locktest.Each(t, locktest.Renewed(locktest.OtherKinds...), func(t *testing.T, k locktest.Kind) {
		t.Parallel()
		r := newFaultRig(t).warmFor(t, k)
		c := faultClient(t, r.through(t, locktest.Impatience(150*time.Millisecond)))
		l, me := k.Held(c, "l"), owner(t.Context(), "me")

		late := r.holdBack("acquire")
		wants(t, leave(t, late, l.Lock), reentrant.ErrNotAcquired, context.Canceled)
		must(t, l.Lock(me))
		must(t, l.Unlock(me))
		wantStale(t, late)
		r.wantFree(t, "the late acquire")

		must(t, l.Lock(me))
		late = r.holdBack("release")
		wants(t, leaveRelease(t, late, l.Unlock), reentrant.ErrUnconfirmed)
		hold, err := l.Acquire(me)
		must(t, err)
		wantStale(t, late)
		k.Has(t, r.Server, "l", hold, "1")
		must(t, hold.Release(me))
		if k.Name == locktest.Read.Name {
			return // Redis does not count the holds of a shared lease
		}
		must(t, l.Lock(me))
		late = r.holdBack("count")
		wants(t, leave(t, late, l.Lock), reentrant.ErrNotAcquired, context.Canceled)
		must(t, l.Unlock(me))
		hold, err = l.Acquire(me)
		must(t, err)
		wantStale(t, late)
		k.Has(t, r.Server, "l", hold, "1")
		must(t, hold.Release(me))
		r.wantFree(t, "the end")
	})
}

// The attempt that puts a call into the line of a fair lock arrives after the call has left, and so does the command that lines up
// calls behind the first. The line has no ghost.
func TestFault19GhostTicket(t *testing.T) {
	t.Parallel()
	r := newFaultRig(t).warmFor(t, locktest.Fair)
	holder, c := faultClient(t, r.Client(t)), faultClient(t, r.through(t, locktest.Impatience(150*time.Millisecond)))
	l, me := c.NewFairLock("l"), owner(t.Context(), "me")
	must(t, holder.NewFairLock("l").Lock(me))
	// Its first attempt does not join the line; the second one does, when it listens.
	second := r.proxy.Add(faultproxy.Rule{Match: scriptIs("acquire"), Action: faultproxy.HoldRequest})
	wants(t, leave(t, second, l.Lock), reentrant.ErrNotAcquired)
	second.Remove()
	second.Release()
	redistest.Eventually(t, 10*time.Second, "nobody is in the line", func() bool { return locktest.Fair.Waiting(t, r.Server, "l") == 0 })

	first := inBackground(func() error { return l.Lock(owner(t.Context(), "first")) })
	locktest.Fair.Registered(t, r.Server, "l", 1)
	lining := r.holdBack("line")
	wants(t, leave(t, lining, l.Lock), reentrant.ErrNotAcquired)
	redistest.Eventually(t, 10*time.Second, "the call has left the line", func() bool {
		return r.Do(t, "EXISTS", "redlatch_epoch:{l}:"+c.ID()) == int64(1)
	})
	lining.Release()
	redistest.Eventually(t, 10*time.Second, "one is in the line", func() bool { return locktest.Fair.Waiting(t, r.Server, "l") == 1 })
	must(t, holder.NewFairLock("l").Unlock(me))
	must(t, locktest.InTime(t, 10*time.Second, "the first has the lock", first))
	must(t, l.Unlock(owner(t.Context(), "first")))
	wantTidy(t, r.Server, []*stand{{name: "l"}})
}

// The renewal was sent before the release, and runs after it: when nobody has the lock, when the same owner has it anew, when a
// rival has it. It extends nothing, and nothing is lost.
func TestFault46KindsRenewalAfterTheUnlock(t *testing.T) {
	t.Parallel()
	locktest.Each(t, locktest.Renewed(locktest.OtherKinds...), func(t *testing.T, k locktest.Kind) {
		t.Parallel()
		const lease = 2 * time.Second
		r := newFaultRig(t).warmFor(t, k)
		c, other := faultClient(t, r.through(t), reentrant.WithLease(lease)), faultClient(t, r.Client(t))
		me := owner(t.Context(), "me")
		for _, next := range []struct {
			l     *reentrant.Lock
			lease time.Duration
		}{{nil, 0}, {k.Held(c, "l"), time.Hour}, {k.Rival(other, "l"), lease - 500*time.Millisecond}} {
			held := r.proxy.Add(faultproxy.Rule{Match: scriptIs("renew"), Times: 1, Action: faultproxy.HoldRequest})
			must(t, k.Held(c, "l").Lock(me))
			redistest.Eventually(t, 20*time.Second, "a renewal is on its way", func() bool { return held.Hits() == 1 })
			must(t, k.Held(c, "l").Unlock(me))
			var hold *reentrant.Hold
			if next.l != nil {
				var err error
				hold, err = next.l.Acquire(me, reentrant.WithFixedLease(next.lease))
				must(t, err)
			}
			before := bytesOf(t, r.Server, "l")
			held.Release()
			if after := bytesOf(t, r.Server, "l"); after != before {
				t.Errorf("the late renewal changed %q to %q", before, after)
			}
			held.Remove()
			if hold != nil {
				must(t, hold.Release(me))
			}
		}
		if s := c.Stats(); s.Losses > 0 {
			t.Errorf("%+v", s)
		}
		wantTidy(t, r.Server, []*stand{{name: "l"}})
	})
}

// Every script of both sides of a read-write lock runs twice: nothing is counted twice, freed twice or lost.
func TestFault16And17And18KindsTwice(t *testing.T) {
	t.Parallel()
	r := newFaultRig(t)
	twice := r.proxy.Add(faultproxy.Rule{Match: anyScript, Action: faultproxy.Duplicate})
	c, d := faultClient(t, r.through(t), reentrant.WithLease(2*time.Second)), faultClient(t, r.through(t), reentrant.WithLease(2*time.Second))
	all := newStands(t, r.Server, c, d, []locktest.Kind{locktest.Write, locktest.WriteBeforeReads, locktest.Read, locktest.FixedRead})
	before := c.Stats().Renewals
	redistest.Eventually(t, 10*time.Second, "all are renewed", func() bool { return c.Stats().Renewals >= before+uint64(len(all)) })
	me := asHolder(t)
	for _, st := range all {
		l := st.Held(c, st.name)
		must(t, l.Lock(me))
		st.Has(t, r.Server, st.name, st.hold, "2")
		must(t, l.Unlock(me))
		st.Has(t, r.Server, st.name, st.hold, "1")
		must(t, st.hold.Release(me))
		wants(t, l.Unlock(me), reentrant.ErrNotHeld)
		st.goesOn(t, 10*time.Second)
	}
	// A write that goes on as a read, and an unlock by force.
	rw := c.NewReadWriteLock("down")
	must(t, rw.Lock(me))
	read, err := rw.Read().Acquire(me)
	must(t, err)
	must(t, rw.Unlock(me))
	if got := r.held(t, "down"); got["mode"] != "read" || len(got) != 2 {
		t.Errorf("after the write: %v", got)
	}
	if freed, err := rw.Read().ForceUnlock(me); !freed || err != nil {
		t.Errorf("ForceUnlock: %v, %v", freed, err)
	}
	wants(t, read.Release(me), reentrant.ErrLost)
	if twice.Hits() < 20 {
		t.Errorf("only %d scripts ran twice", twice.Hits())
	}
	wantTidy(t, r.Server, all)
}

// Readers share a lease, and the answer to the question whether one more may join is lost: it is asked again, nobody holds
// anything twice, and the last release ends the lease.
func TestFault16JoinReplyLost(t *testing.T) {
	t.Parallel()
	for name, action := range answerLost {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newFaultRig(t).warmFor(t, locktest.Read)
			c := faultClient(t, r.through(t, locktest.Impatience(200*time.Millisecond)))
			rw := c.NewReadWriteLock("l")
			as := func(i int) context.Context { return owner(t.Context(), fmt.Sprint("r", i)) }
			lost := r.proxy.Add(faultproxy.Rule{Match: scriptIs("join"), Times: 1, Action: action})
			must(t, rw.RLock(as(0)))
			readers := 1
			// A read within 10 ms of Redis' word asks nothing.
			redistest.Eventually(t, 10*time.Second, "an answer is lost", func() bool {
				must(t, rw.RLock(as(readers)))
				readers++
				return lost.Hits() > 0
			})
			if got := r.held(t, "l"); len(got) != 2 || got["mode"] != "read" {
				t.Errorf("Redis has %v", got)
			}
			for i := range readers {
				if i == readers-1 && len(r.held(t, "l")) != 2 {
					t.Error("freed before the last release")
				}
				must(t, rw.RUnlock(as(i)))
			}
			r.wantFree(t, "the last release")
			if st := c.Stats(); st.Losses > 0 || st.Held > 0 {
				t.Errorf("%+v", st)
			}
		})
	}
}

// The last reader of a Client leaves while another one enters, and a writer of another Client comes in between: nobody reads beside
// the write, nobody is left out, and nobody has lost anything.
func TestFault59LastReaderLeavesWhileAnotherEnters(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	readers, writers := faultClient(t, s.Client(t)), faultClient(t, s.Client(t))
	x := &rwOracle{t: t}
	end := time.Now().Add(1500 * time.Millisecond)
	done := make(chan error, 4)
	for i := range 3 {
		go func() {
			rw, me := readers.NewReadWriteLock("l"), owner(t.Context(), fmt.Sprint("r", i))
			var err error
			for err == nil && time.Now().Before(end) {
				if err = rw.RLock(me); err == nil {
					x.read(0)
					err = rw.RUnlock(me)
				}
			}
			done <- err
		}()
	}
	go func() {
		rw, me := writers.NewReadWriteLock("l"), owner(t.Context(), "w")
		var err error
		for err == nil && time.Now().Before(end) {
			if err = rw.Lock(me); err == nil {
				x.write(0)
				err = rw.Unlock(me)
			}
		}
		done <- err
	}()
	var errs []error
	for range 4 {
		errs = append(errs, locktest.InTime(t, 30*time.Second, "a call", done))
	}
	must(t, errors.Join(errs...))
	t.Logf("%d reads, %d writes", x.reads.Load(), x.writes.Load())
	if x.reads.Load() < 20 || x.writes.Load() < 20 || readers.Stats().Losses+writers.Stats().Losses > 0 {
		t.Errorf("%d reads, %d writes, %+v", x.reads.Load(), x.writes.Load(), readers.Stats())
	}
	nothingLeft(t, s, "l")
}
