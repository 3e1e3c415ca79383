package faulttests

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// Redis dies and comes back with nothing: every holder is told by a renewal, and every waiter has the lock.
func TestFault01KindsRestartEmpty(t *testing.T) {
	t.Parallel()
	const lease = 3 * time.Second
	s := redistest.Start(t)
	holder, waiter := faultClient(t, s.Client(t), reentrant.WithLease(lease)), faultClient(t, s.Client(t), reentrant.WithLease(lease))
	all := newStands(t, s, holder, waiter, locktest.OtherKinds)
	s.Restart()
	for _, st := range all {
		st.wantLost(t, 2*lease, reentrant.Overridden)
	}
	for _, st := range all {
		st.goesOn(t, 20*time.Second)
	}
	wantTidy(t, s, all)
}

// Redis dies and comes back with its data: nobody has lost anything, and the line, the registries and the barriers
// are where they were.
func TestFault02KindsRestartWithAOF(t *testing.T) {
	t.Parallel()
	const lease = 6 * time.Second
	s := redistest.Start(t, redistest.WithAOF())
	holder, waiter := faultClient(t, s.Client(t), reentrant.WithLease(lease)), faultClient(t, s.Client(t), reentrant.WithLease(lease))
	all := newStands(t, s, holder, waiter, locktest.OtherKinds)
	s.Restart()
	before := holder.Stats().Renewals
	redistest.Eventually(t, 2*lease, "all are renewed", func() bool {
		return holder.Stats().Renewals >= before+uint64(len(locktest.Renewed(locktest.OtherKinds...)))
	})
	for _, st := range all {
		st.wantHeld(t, s)
		must(t, st.hold.Release(asHolder(t)))
		st.goesOn(t, 10*time.Second)
	}
	wantTidy(t, s, all)
}

// Redis stands still for longer than the lease, under holders, waiters, and calls that give up meanwhile. What runs when
// it goes on keeps the lock from nobody: no late acquire, no place in the line of somebody who has left, no barrier.
func TestFault04KindsStopped(t *testing.T) {
	onStoppedServer(t, func(t *testing.T, s *redistest.Server, client func(...reentrant.Option) *reentrant.Client) {
		const lease = 1500 * time.Millisecond
		noise, holder, waiter, asker := listenToNoise(t), client(reentrant.WithLease(lease)), client(reentrant.WithLease(lease)), client()
		all := newStands(t, s, holder, waiter, locktest.Renewed(locktest.OtherKinds...))
		s.Stop()
		for _, st := range all {
			for _, l := range []*reentrant.Lock{st.Held(asker, "asked "+st.Name), st.Rival(asker, st.name)} {
				late, err := cancelIn(t, 50*time.Millisecond, l.Lock)
				wants(t, err, reentrant.ErrNotAcquired)
				if late > noise.allow(100*time.Millisecond) {
					t.Errorf("%s: returned %v after its cancellation", st.Name, late)
				}
			}
		}
		for _, st := range all {
			locktest.InTime(t, 2*lease, st.Name+": the loss", st.hold.Lost())
			if late := time.Since(st.hold.ValidUntil()); late < 0 {
				t.Errorf("%s: told of the loss %v before ValidUntil", st.Name, -late)
			}
			st.wantLost(t, time.Second, reentrant.LeaseEnded)
		}
		s.Continue()
		for _, st := range all {
			st.goesOn(t, 20*time.Second)
			locktest.FreeWithin(t, s, 5*time.Second, "asked "+st.Name)
		}
		wantTidy(t, s, all)
	})
}

// Redis stands still for less than the lease: a renewal is missed, and nothing is lost.
func TestFault05KindsStoppedBriefly(t *testing.T) {
	t.Parallel()
	const lease = 3 * time.Second
	s := redistest.Start(t)
	holder, waiter := faultClient(t, s.Client(t), reentrant.WithLease(lease)), faultClient(t, s.Client(t))
	all := newStands(t, s, holder, waiter, locktest.OtherKinds)
	s.Stop()
	redistest.Eventually(t, 10*time.Second, "a renewal was missed", func() bool { return holder.Stats().RenewFailures > 0 })
	s.Continue()
	before := holder.Stats().Renewals
	redistest.Eventually(t, 10*time.Second, "all are renewed", func() bool {
		return holder.Stats().Renewals >= before+uint64(len(locktest.Renewed(locktest.OtherKinds...)))
	})
	for _, st := range all {
		st.wantHeld(t, s)
		must(t, st.hold.Release(asHolder(t)))
		st.goesOn(t, 10*time.Second)
	}
	wantTidy(t, s, all)
}

// Redis takes no writes for want of replicas: renewed holds end with their lease, and no release has gone astray when it
// takes writes again.
func TestFault25KindsNoReplicas(t *testing.T) {
	redistest.Needs(t, "6.2.7", "a check of min-replicas-to-write in scripts")
	t.Parallel()
	s := redistest.Start(t)
	holder, waiter := faultClient(t, s.Client(t), reentrant.WithLease(1500*time.Millisecond)), faultClient(t, s.Client(t))
	all := newStands(t, s, holder, waiter, locktest.OtherKinds)
	s.Do(t, "CONFIG", "SET", "min-replicas-to-write", "1")
	for _, st := range all {
		if st.Fixed > 0 {
			ctx, cancel := context.WithTimeout(asHolder(t), 200*time.Millisecond)
			wants(t, st.hold.Release(ctx), reentrant.ErrUnconfirmed)
			cancel()
			continue
		}
		st.wantLost(t, 10*time.Second, reentrant.LeaseEnded)
	}
	s.Do(t, "CONFIG", "SET", "min-replicas-to-write", "0")
	for _, st := range all {
		st.goesOn(t, 20*time.Second) // the fixed lease is a minute
	}
	wantTidy(t, s, all)
}

// Redis is full: nobody gets a lock, holds are renewed, and every release works, also of a write inside which its owner reads:
// the read goes on, and the mode is the reader's.
func TestFault30KindsFullRedis(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	holder, waiter := faultClient(t, s.Client(t), reentrant.WithLease(3*time.Second)), faultClient(t, s.Client(t))
	all := newStands(t, s, holder, waiter, locktest.OtherKinds)
	down, me := holder.NewReadWriteLock("down"), asHolder(t)
	must(t, down.Lock(me))
	must(t, down.RLock(me))
	// An owner of the same Client is the next in the line: a full Redis refuses the hand-off, and the lock is freed.
	line := holder.NewFairLock("line")
	must(t, line.Lock(me))
	yours := inBackground(func() error { return line.Lock(owner(t.Context(), "you")) })
	locktest.Fair.Registered(t, s, "line", 1)

	s.Do(t, "CONFIG", "SET", "maxmemory", "1")
	for _, st := range all {
		_, err := st.Held(holder, "another").TryLock(me, 0, 0)
		if !errors.Is(err, reentrant.ErrNotAcquired) || !strings.Contains(err.Error(), "OOM") {
			t.Errorf("%s: TryLock: %v", st.Name, err)
		}
	}
	before := holder.Stats().Renewals
	redistest.Eventually(t, 10*time.Second, "all are renewed", func() bool {
		return holder.Stats().Renewals >= before+uint64(len(locktest.Renewed(locktest.OtherKinds...)))
	})
	must(t, down.Unlock(me))
	if mode := s.Do(t, "HGET", "down", "mode"); mode != "read" {
		t.Errorf("after the write the mode is %v", mode)
	}
	must(t, down.RUnlock(me))
	locktest.FreeWithin(t, s, 0, "down")
	must(t, line.Unlock(me))
	for _, st := range all {
		st.wantHeld(t, s)
		must(t, st.hold.Release(me))
	}
	s.Do(t, "CONFIG", "SET", "maxmemory", "0")
	for _, st := range all {
		st.goesOn(t, 10*time.Second)
	}
	if err := locktest.InTime(t, 10*time.Second, "the wait of the same Client ends", yours); err == nil {
		must(t, line.Unlock(owner(t.Context(), "you")))
	} else {
		wants(t, err, reentrant.ErrNotAcquired)
	}
	if n := holder.Stats().Losses; n > 0 {
		t.Errorf("%d losses", n)
	}
	wantTidy(t, s, all)
	redistest.Eventually(t, 5*time.Second, "nobody is in the line", func() bool { return locktest.Fair.Waiting(t, s, "line") == 0 })
}
