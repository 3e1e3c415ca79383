package reentrant_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// A call says why it tries again, and how it got the lock; Stats counts the same wake-ups.
func TestTimeEventWoken(t *testing.T) {
	for _, c := range []struct {
		how  reentrant.How
		hold []reentrant.AcquireOption // of the other Client
		free func(v *virtual, hold *reentrant.Hold)
	}{
		{how: reentrant.HowMessage, free: func(v *virtual, hold *reentrant.Hold) { must(v.t, hold.Release(v.ctx)) }},
		{how: reentrant.HowTTL, hold: []reentrant.AcquireOption{reentrant.WithFixedLease(900 * time.Millisecond)}, free: func(v *virtual, _ *reentrant.Hold) {
			v.pass(time.Second)
		}},
		{how: reentrant.HowPoll, hold: []reentrant.AcquireOption{reentrant.WithFixedLease(time.Hour)}, free: func(v *virtual, _ *reentrant.Hold) {
			v.mini.Del("job")
			v.pass(10 * time.Second)
		}},
	} {
		t.Run(string(c.how), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				hold, err := v.client().NewLock("job").Acquire(v.ctx, c.hold...)
				must(t, err)
				j := &journal{}
				client := v.client(reentrant.WithEvents(reentrant.Events{
					Waiting: j.note("waiting"), Woken: j.note("woken"), Acquired: j.note("acquired"),
				}))
				waiter := begin(func() error { return client.NewLock("job").Lock(reentrant.WithOwner(v.ctx, "me")) })
				v.pass(time.Millisecond)
				c.free(v, hold)
				must(t, waiter.wait())
				wantWoken(t, j, client, c.how)
			})
		})
	}
}

// wantWoken wants one call that was woken until how, by which it got the lock.
func wantWoken(t *testing.T, j *journal, c *reentrant.Client, how reentrant.How) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	woken := make(map[reentrant.How]uint64)
	var last reentrant.How
	for i, e := range j.events {
		if e.Call != 1 {
			t.Errorf("%s has call %d", j.kinds[i], e.Call)
		}
		switch j.kinds[i] {
		case "woken":
			woken[e.How]++
			last = e.How
		case "acquired":
			if e.How != how || last != how {
				t.Errorf("acquired by %q, after a wake-up by %q; want %q", e.How, last, how)
			}
		}
	}
	if n := len(j.kinds); j.kinds[0] != "waiting" || j.kinds[n-1] != "acquired" {
		t.Errorf("events %q", j.kinds)
	}
	got := reentrant.WakeUps{
		Message: woken[reentrant.HowMessage], TTL: woken[reentrant.HowTTL],
		Poll: woken[reentrant.HowPoll], Subscribed: woken[reentrant.HowSubscribed],
	}
	if want := c.Stats().WakeUps; got != want {
		t.Errorf("events %+v, counted %+v", got, want)
	}
}

// The events of one call have its number, and those of a hold the number of the call that got it.
func TestTimeEventsNumberTheCalls(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		j := &journal{}
		c := v.client(j.every())
		l := c.NewLock("job")
		numbers := func(want ...uint64) {
			t.Helper()
			j.mu.Lock()
			defer j.mu.Unlock()
			for i, e := range j.events {
				if i >= len(want) || e.Call != want[i] {
					t.Fatalf("%s has number %d; want %v", j.kinds[i], e.Call, want)
				}
			}
			if len(j.events) != len(want) {
				t.Fatalf("events %q, want numbers %v", j.kinds, want)
			}
			j.kinds, j.events = nil, nil
		}
		me, you := reentrant.WithOwner(v.ctx, "me"), reentrant.WithOwner(v.ctx, "you")
		must(t, l.Lock(me))
		must(t, l.Lock(me))
		must(t, l.Unlock(me))
		v.pass(lease / 3)
		numbers(1, 2, 1) // acquired, re-entered, renewed

		ctx, cancel := context.WithTimeout(you, time.Millisecond)
		_ = l.Lock(ctx)
		cancel()
		numbers(3, 3) // waiting, not acquired

		waiter := begin(func() error { return l.Lock(you) })
		v.pass(time.Millisecond)
		must(t, l.Unlock(me))
		must(t, waiter.wait())
		numbers(4, 1, 4) // waiting, handed over, acquired
		v.mini.FlushAll()
		v.pass(lease)
		numbers(4) // lost
		wants(t, l.Unlock(you), reentrant.ErrLost)

		must(t, l.Lock(me))
		v.refuseAll("NOPERM no")
		wants(t, l.Unlock(me), reentrant.ErrUnconfirmed)
		numbers(5, 5)
	})
}

// A read that begins on the lease of others says so, and ends as itself.
func TestTimeEventsOfSharedReads(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		j := &journal{}
		rw := v.client(j.every()).NewReadWriteLock("job")
		must(t, rw.RLock(v.reader(0)))
		must(t, rw.RLock(v.reader(1)))
		events := j.take(t, "acquired", "acquired")
		if events[0].How != reentrant.HowFree || events[1].How != reentrant.HowShared {
			t.Errorf("got by %q and %q", events[0].How, events[1].How)
		}
		must(t, rw.RUnlock(v.reader(1)))
		must(t, rw.RUnlock(v.reader(0)))
		if e := j.take(t, "released", "released"); e[0].Call != 2 || e[1].Call != 1 {
			t.Errorf("released %d and %d", e[0].Call, e[1].Call)
		}
	})
}
