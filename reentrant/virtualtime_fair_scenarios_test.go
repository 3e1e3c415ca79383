package reentrant_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// inLineOf has a call wait, and comes back when it stands in the line.
func (v *virtual) inLineOf(g *grants, l *reentrant.Lock, i int) {
	v.t.Helper()
	g.wait(v.t, l, i)
	v.pass(10 * time.Millisecond)
}

// Redisson's testTryLockNonDelayed and testTryLockWait: a call that does not wait leaves nothing behind, and one that
// waits ends at its limit.
func TestTimeFairTryLockLimits(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		a, b := v.client(), v.client()
		hold := v.fairHold(a)
		for _, wait := range []time.Duration{0, 3 * time.Second} {
			began := time.Now()
			ok, err := b.NewFairLock("l").TryLock(owner(v.ctx, "try"), wait, 0)
			if took := time.Since(began); ok || err != nil || took < wait || took > wait+100*time.Millisecond {
				t.Errorf("wait %v: %v, %v after %v", wait, ok, err, took)
			}
			v.pass(100 * time.Millisecond)
			v.wantLine()
		}
		must(t, hold.Release(v.ctx))
		must(t, b.NewFairLock("l").Lock(owner(v.ctx, "try")))
		must(t, b.NewFairLock("l").Unlock(owner(v.ctx, "try")))
	})
}

// Redisson's testExpire and testTryLockAbandoned: the lease of a holder that does not unlock ends, and the next in line
// has the lock at once, also if one before it has given up.
func TestTimeFairExpires(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		a, b := v.client(), v.client()
		must(t, a.NewFairLock("l").LockLease(owner(v.ctx, "first"), 2*time.Second))
		began := time.Now()
		gone := begin(func() error {
			_, err := a.NewFairLock("l").TryLock(owner(v.ctx, "gone"), 500*time.Millisecond, 0)
			return err
		})
		v.pass(10 * time.Millisecond)
		var g grants
		v.inLineOf(&g, b.NewFairLock("l"), 0)
		v.inLineOf(&g, a.NewFairLock("l"), 1)
		must(t, gone.wait())
		g.want(t, 2)
		if took := time.Since(began); took < 2*time.Second || took > 2020*time.Millisecond {
			t.Errorf("the next has the lock after %v", took)
		}
		wants(t, a.NewFairLock("l").Unlock(owner(v.ctx, "first")), reentrant.ErrLost)
		v.wantLine()
	})
}

// Redisson's testAcquireFailedOnRedisTimeout: Redis does not answer for 30 s; the call ends at its limit, and is not in the
// line afterwards.
func TestTimeFairRedisSilent(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		a, b := v.client(reentrant.WithLease(time.Hour)), v.client()
		hold := v.fairHold(a)
		until := time.Now().Add(30 * time.Second)
		v.onCommand(func(cmd string, _ []string) string {
			if cmd == "EVALSHA" || cmd == "EVAL" {
				time.Sleep(time.Until(until))
			}
			return ""
		})
		ok, err := b.NewFairLock("l").TryLock(owner(v.ctx, "try"), 3*time.Second, 0)
		if ok || time.Now().After(until.Add(-20*time.Second)) {
			t.Errorf("%v, %v at %v before the end", ok, err, time.Until(until))
		}
		v.pass(time.Minute)
		v.wantLine()
		must(t, hold.Release(v.ctx))
	})
}

// ForceUnlock frees the lock for the head of the line. The order stays, and the holder is told.
func TestTimeFairForceUnlockWithWaiters(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		clients := []*reentrant.Client{v.client(), v.client()}
		hold := v.fairHold(clients[0])
		var g grants
		for i := range 6 {
			v.inLineOf(&g, clients[i%2].NewFairLock("l"), i)
		}
		freed, err := clients[1].NewFairLock("l").ForceUnlock(v.ctx)
		if !freed || err != nil {
			t.Error(freed, err)
		}
		g.want(t, 6)
		wants(t, hold.Release(v.ctx), reentrant.ErrLost)
		v.wantLine()
	})
}

// The limit of a hold goes on the next in line, in order.
func TestTimeFairMaxHold(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		a, b := v.client(reentrant.WithMaxHold(3*time.Second)), v.client()
		hold := v.fairHold(a)
		began := time.Now()
		var g grants
		v.inLineOf(&g, b.NewFairLock("l"), 0)
		v.inLineOf(&g, a.NewFairLock("l"), 1)
		g.want(t, 2)
		if took := time.Since(began); took < 2*time.Second || took > 3*time.Second+lease {
			t.Errorf("the next has the lock after %v", took)
		}
		wants(t, hold.Release(v.ctx), reentrant.ErrLost)
	})
}

// A nested call by the hold's ctx does not stand in the line, though others do.
func TestTimeFairNestedByCtx(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		a, b := v.client(), v.client()
		l := a.NewFairLock("l")
		var g grants
		must(t, l.Do(v.ctx, func(ctx context.Context) error {
			v.inLineOf(&g, b.NewFairLock("l"), 0)
			return l.Do(ctx, func(context.Context) error {
				v.wantLine("w0")
				return nil
			})
		}))
		g.want(t, 1)
	})
}

// A fair lock and a read-write lock of one name tell each other.
func TestTimeFairForeign(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		a, b := v.client(), v.client()
		me := owner(v.ctx, "me")
		hold := v.fairHold(a)
		rw := b.NewReadWriteLock("l")
		wants(t, rw.Lock(me), reentrant.ErrForeignKey)
		wants(t, rw.RLock(me), reentrant.ErrForeignKey)
		must(t, hold.Release(v.ctx))
		must(t, rw.RLock(me))
		wants(t, a.NewFairLock("l").Lock(me), reentrant.ErrForeignKey)
		_, err := a.NewFairLock("l").ForceUnlock(me)
		wants(t, err, reentrant.ErrForeignKey)
		_, err = a.NewFairLock("l").Info(me)
		wants(t, err, reentrant.ErrForeignKey)
		v.wantLine()
		must(t, rw.RUnlock(me))
	})
}

// Eight Clients with eight goroutines each take turns: the longest wait is at most 1.2 times the mean.
func TestTimeFairWaitsAreEven(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		const clients, each, rounds = 8, 8, 6
		var g grants
		var sum, longest time.Duration
		n := 0
		for i := range clients {
			l := v.client().NewFairLock("l")
			for k := range each {
				g.wg.Go(func() {
					me := owner(v.ctx, strconv.Itoa(i*each+k))
					for round := range rounds {
						began := time.Now()
						must(t, l.Lock(me))
						wait := time.Since(began)
						if round > 0 { // the first is a crowd that comes at once
							g.mu.Lock()
							sum, longest, n = sum+wait, max(longest, wait), n+1
							g.mu.Unlock()
						}
						time.Sleep(5 * time.Millisecond)
						must(t, l.Unlock(me))
					}
				})
			}
		}
		g.wg.Wait()
		mean := sum / time.Duration(n)
		t.Logf("%d waits, mean %v, longest %v", n, mean, longest)
		if longest > mean*12/10 {
			t.Errorf("the longest wait is %v, the mean %v", longest, mean)
		}
	})
}
