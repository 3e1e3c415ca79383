package reentrant_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/reentrant"
)

// waitInLine begins a call for each owner, one after the other.
func waitInLine(v *virtual, l *reentrant.Lock, owners int) (holds []*reentrant.Hold, calls []*pending) {
	holds = make([]*reentrant.Hold, owners)
	for i := range owners {
		calls = append(calls, begin(func() (err error) {
			holds[i], err = l.Acquire(owner(v.ctx, strconv.Itoa(i)))
			return err
		}))
		synctest.Wait()
	}
	return holds, calls
}

// While Redis refuses everything the lock is passed on for two thirds of the lease, each hold
// valid as long as the first. Then it waits for Redis, and the next in line gets it.
func TestTimeBehindPassesOnForTwoThirds(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		const step, lease = 50 * time.Millisecond, time.Second
		c := v.client(locktest.WriteBehind)
		l := c.NewLock("job")
		hold, err := l.Acquire(v.ctx)
		must(t, err)
		holds, calls := waitInLine(v, l, 20)
		until := hold.ValidUntil()
		v.refuseAll(loading)
		next := 0
		for {
			v.pass(step)
			passes := time.Until(until) >= lease/3
			short, cancel := context.WithTimeout(v.ctx, time.Millisecond)
			err := hold.Release(short)
			cancel()
			synctest.Wait()
			if granted := calls[next].over(); granted != passes || (err == nil) != passes {
				t.Fatalf("%v left: granted %v, want %v; released: %v", time.Until(until), granted, passes, err)
			}
			if !passes {
				wants(t, err, reentrant.ErrUnconfirmed)
				break
			}
			hold = holds[next]
			if !hold.ValidUntil().Equal(until) {
				t.Fatalf("hold %d is valid until %v later without a word of Redis", next, hold.ValidUntil().Sub(until))
			}
			next++
		}
		if want := int(lease * 2 / 3 / step); next != want {
			t.Errorf("%d hand-offs, want %d", next, want)
		}
		v.refuseAll("")
		must(t, calls[next].wait())
		for ; next < len(calls); next++ {
			must(t, calls[next].wait())
			must(t, holds[next].Release(v.ctx))
		}
		if s := c.Stats(); s.Losses != 0 || s.Held != 0 || v.mini.Exists("job") {
			t.Errorf("stats %+v", s)
		}
	})
}

// Nobody can tell the last in a row that the lock has run out, so its own clock must, at the
// ValidUntil of the first. The others are not lost; whoever waits gets the lock when Redis is back.
func TestTimeBehindLostAtValidUntil(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client(locktest.WriteBehind)
		l := c.NewLock("job")
		first, err := l.Acquire(v.ctx)
		must(t, err)
		until := first.ValidUntil()
		holds, calls := waitInLine(v, l, 3)
		v.refuseAll(loading)
		must(t, first.Release(v.ctx))
		must(t, calls[0].wait())
		must(t, holds[0].Release(v.ctx))
		must(t, calls[1].wait())
		last := holds[1]
		v.pass(time.Until(until) - time.Millisecond)
		if ended(last.Lost()) {
			t.Fatal("lost too early")
		}
		v.pass(time.Millisecond)
		if !ended(last.Lost()) || ended(first.Lost()) || ended(holds[0].Lost()) {
			t.Fatal("the wrong holds are lost at ValidUntil")
		}
		var why *reentrant.LostError
		if !errors.As(locktest.ContextCause(last), &why) || why.Reason != reentrant.LeaseEnded || why.Owner != last.Owner() {
			t.Errorf("lost because of %v", locktest.ContextCause(last))
		}
		wants(t, locktest.ContextCause(first), reentrant.ErrReleased)
		wants(t, locktest.ContextCause(holds[0]), reentrant.ErrReleased)
		wants(t, last.Release(v.ctx), reentrant.ErrLost)
		if calls[2].over() {
			t.Fatal("granted while Redis refuses")
		}
		v.refuseAll("")
		must(t, calls[2].wait())
		must(t, holds[2].Release(v.ctx))
		v.pass(2 * lease)
		if s := c.Stats(); s.Losses != 1 || s.Held != 0 || v.mini.Exists("job") {
			t.Errorf("stats %+v", s)
		}
	})
}

// A row of holds is renewed like one hold, for as long as Redis answers.
func TestTimeBehindIsRenewed(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client(locktest.WriteBehind)
		l := c.NewLock("job")
		hold, err := l.Acquire(v.ctx)
		must(t, err)
		holds, calls := waitInLine(v, l, 10)
		for i, call := range calls {
			v.pass(lease * 7 / 5)
			if left, valid := v.ttl("job"), time.Until(hold.ValidUntil()); left < lease*2/3-time.Millisecond || valid > left {
				t.Fatalf("valid for %v, %v left in Redis", valid, left)
			}
			must(t, hold.Release(v.ctx))
			must(t, call.wait())
			hold = holds[i]
		}
		must(t, hold.Release(v.ctx))
		if s := c.Stats(); s.HandedOver != 10 || s.Losses != 0 || s.Renewals == 0 {
			t.Errorf("stats %+v", s)
		}
	})
}
