package reentrant_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/reentrant"
)

func TestTimeBehindEvents(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		j := &journal{}
		c := v.client(j.all(), locktest.WriteBehind, reentrant.WithLease(time.Hour))
		l := c.NewLock("job")
		hold, err := l.Acquire(owner(v.ctx, "first"))
		must(t, err)
		holds, calls := waitInLine(v, l, 2)
		j.take(t, "acquired", "waiting", "waiting")
		from := hold.Owner()
		for i, name := range []string{"0", "1"} {
			v.pass(time.Second)
			must(t, hold.Release(v.ctx))
			must(t, calls[i].wait())
			v.pass(0)
			events := j.take(t, "handed over", "acquired")
			to := c.ID() + ":=" + name
			same(t, events[0], reentrant.Event{Name: "job", Owner: to, From: from, Held: time.Second})
			same(t, events[1], reentrant.Event{Name: "job", Owner: to, How: reentrant.HowHandoff, Waited: time.Duration(i+1) * time.Second})
			hold, from = holds[i], to
		}
		must(t, l.Lock(hold.Context()))
		same(t, j.take(t, "re-entered")[0], reentrant.Event{Name: "job", Owner: from, Count: 2})
		must(t, l.Unlock(hold.Context()))
		v.pass(time.Second)
		must(t, hold.Release(v.ctx))
		same(t, j.take(t, "released")[0], reentrant.Event{Name: "job", Owner: from, Held: time.Second})
		if s := c.Stats(); s.HandedOver != 2 || s.Acquired != 3 || s.Held != 0 {
			t.Errorf("stats %+v", s)
		}
	})
}

// The loss of a lock that was passed on is one event, of its last holder.
func TestTimeBehindEventOfALoss(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		j := &journal{}
		c := v.client(j.all(), locktest.WriteBehind)
		l := c.NewLock("job")
		first, err := l.Acquire(owner(v.ctx, "first"))
		must(t, err)
		holds, calls := waitInLine(v, l, 1)
		j.take(t, "acquired", "waiting")
		v.mini.Del("job")
		must(t, first.Release(v.ctx)) // Redis is not asked
		must(t, calls[0].wait())
		v.pass(0) // it is now, by the move
		events := j.take(t, "handed over", "acquired", "lost")
		if e := events[2]; e.Owner != holds[0].Owner() || !ended(holds[0].Lost()) || ended(first.Lost()) {
			t.Errorf("lost %+v", e)
		}
		wants(t, holds[0].Release(v.ctx), reentrant.ErrLost)
		if n := c.Stats().Losses; n != 1 {
			t.Errorf("%d losses", n)
		}
	})
}

// WithMaxHold is for each hold of a row anew; the one that stays too long is lost, and only that.
func TestTimeBehindMaxHold(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		const most = 2 * lease
		c := v.client(locktest.WriteBehind, reentrant.WithMaxHold(most))
		l := c.NewLock("job")
		hold, err := l.Acquire(v.ctx)
		must(t, err)
		holds, calls := waitInLine(v, l, 6)
		for i, call := range calls {
			v.pass(most - time.Millisecond)
			must(t, hold.Release(v.ctx))
			must(t, call.wait())
			hold = holds[i]
		}
		v.pass(most)
		if ended(hold.Lost()) {
			t.Fatal("lost before the limit")
		}
		v.pass(lease)
		if !ended(hold.Lost()) || v.mini.Exists("job") {
			t.Fatal("not lost a lease after the limit")
		}
		if s := c.Stats(); s.Losses != 1 || s.HandedOver != 6 {
			t.Errorf("stats %+v", s)
		}
	})
}
