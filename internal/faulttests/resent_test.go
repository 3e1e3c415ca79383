package faulttests

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// answerLost are the ways in which a script runs and its client does not hear of it, so
// that it is sent again.
var answerLost = map[string]faultproxy.Action{
	"closed":    faultproxy.DropAfter,
	"reset":     faultproxy.ResetAfter,
	"swallowed": faultproxy.SwallowReply,
}

// lose has one answer to a script lost, and returns a check that it was.
func (r *faultRig) lose(t *testing.T, script string, action faultproxy.Action) (check func()) {
	rule := r.proxy.Add(faultproxy.Rule{Match: scriptIs(script), Times: 1, Action: action})
	return func() {
		t.Helper()
		if rule.Hits() != 1 {
			t.Errorf("%d answers to %s were lost", rule.Hits(), script)
		}
		rule.Remove()
	}
}

// A grant whose answer is lost is asked for again: held once, with one token. A script that
// counts up shows that the fault is there to be seen: it has counted to two.
func TestFault16AcquireReplyLost(t *testing.T) {
	t.Parallel()
	const counting = `redis.call('HINCRBY', KEYS[1], 'f', 1) return 1`
	for name, action := range answerLost {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newFaultRig(t).warm(t)
			rdb := r.through(t, locktest.Impatience(500*time.Millisecond))
			r.proxy.Add(faultproxy.Rule{Match: faultproxy.Named("EVAL"), Times: 1, Action: action})
			must(t, rdb.Eval(t.Context(), counting, []string{"control"}).Err())
			if got := r.Do(t, "HGET", "control", "f"); got != "2" {
				t.Fatalf("a script that counts up has counted to %v: it was not sent again", got)
			}
			r.Do(t, "DEL", "control")

			c := faultClient(t, rdb)
			l, me := c.NewLock("l", reentrant.WithFencing()), owner(t.Context(), "me")
			check := r.lose(t, "acquire", action)
			hold, err := l.Acquire(me)
			must(t, err)
			check()
			if got := r.held(t, "l"); !maps.Equal(got, map[string]string{hold.Owner(): "1"}) {
				t.Errorf("acquired once, Redis has %v", got)
			}
			check = r.lose(t, "count", action)
			must(t, l.Lock(me))
			check()
			if got := r.held(t, "l"); got[hold.Owner()] != "2" {
				t.Errorf("held twice, Redis has %v", got)
			}
			must(t, l.Unlock(me))
			must(t, hold.Release(me))
			locktest.TidyWithin(t, r.Server, 10*time.Second, "l")
		})
	}
}

// An unlock whose answer is lost is sent again, and is no error: an inner one has taken one
// hold away and not two, the last one has freed the lock.
func TestFault17UnlockReplyLost(t *testing.T) {
	t.Parallel()
	for name, action := range answerLost {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newFaultRig(t).warm(t)
			c := faultClient(t, r.through(t, locktest.Impatience(500*time.Millisecond)))
			l, me := c.NewLock("l"), owner(t.Context(), "me")
			hold, err := l.Acquire(me)
			must(t, err)
			must(t, l.Lock(me))
			must(t, l.Lock(me))
			check := r.lose(t, "count", action)
			must(t, l.Unlock(me))
			check()
			if got := r.held(t, "l"); got[hold.Owner()] != "2" {
				t.Errorf("three holds less one, Redis has %v", got)
			}
			must(t, l.Unlock(me))
			check = r.lose(t, "release", action)
			must(t, hold.Release(me))
			check()
			if got := r.held(t, "l"); len(got) > 0 {
				t.Errorf("released, Redis has %v", got)
			}
			wants(t, l.Unlock(me), reentrant.ErrNotHeld)
			locktest.TidyWithin(t, r.Server, 10*time.Second, "l")
		})
	}
}

// The release has run, its answer is lost, and the second one is on its way while another
// client gets the lock, and while the same owner does. It frees neither.
func TestFault17UnlockResentLate(t *testing.T) {
	t.Parallel()
	r := newFaultRig(t).warm(t)
	c := faultClient(t, r.through(t, locktest.Impatience(500*time.Millisecond)))
	other := faultClient(t, r.Client(t))
	l, me := c.NewLock("l"), owner(t.Context(), "me")
	for _, next := range []*reentrant.Lock{other.NewLock("l"), l} {
		must(t, l.Lock(me))
		check := r.lose(t, "release", faultproxy.DropAfter)
		second := r.holdBack("release")
		ctx, cancel := context.WithTimeout(me, 250*time.Millisecond) // while the second one is on its way
		released := make(chan error, 1)
		go func() { released <- l.Unlock(ctx) }()
		wants(t, locktest.InTime(t, 5*time.Second, "Unlock", released), reentrant.ErrUnconfirmed)
		cancel()
		redistest.Eventually(t, 5*time.Second, "the release was sent again", func() bool { return second.Hits() == 1 })
		check()
		hold, err := next.Acquire(me)
		must(t, err)
		second.Release()
		if got := r.held(t, "l"); !maps.Equal(got, map[string]string{hold.Owner(): "1"}) {
			t.Errorf("the release that came late has changed the next hold: %v", got)
		}
		must(t, hold.Release(me))
		second.Remove()
	}
	locktest.TidyWithin(t, r.Server, 10*time.Second, "l")
}

// Renewals run and nobody hears of it. Trust ends when it would have without them; the first
// one that is answered goes on from there, and nothing else has happened.
func TestFault18RenewReplyLost(t *testing.T) {
	t.Parallel()
	const lease = 6 * time.Second // it has to be kept on a busy machine
	for _, name := range []string{"closed", "swallowed"} {
		action := answerLost[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newFaultRig(t).warm(t)
			c := faultClient(t, r.through(t, locktest.Impatience(500*time.Millisecond)), reentrant.WithLease(lease))
			l, me := c.NewLock("l"), owner(t.Context(), "me")
			hold, err := l.Acquire(me)
			must(t, err)
			redistest.Eventually(t, 10*time.Second, "the script is known", func() bool { return c.Stats().Renewals > 0 })
			lost := r.proxy.Add(faultproxy.Rule{Match: scriptIs("renew"), Action: action})
			redistest.Eventually(t, 10*time.Second, "a renewal was sent", func() bool { return lost.Hits() > 0 })
			until := hold.ValidUntil()
			redistest.Eventually(t, 10*time.Second, "it has run, and was sent again", func() bool {
				left := time.Duration(r.Do(t, "PTTL", "l").(int64)) * time.Millisecond
				return c.Stats().RenewFailures > 0 && left-time.Until(until) > lease/6
			})
			if moved := hold.ValidUntil().Sub(until); moved != 0 {
				t.Errorf("ValidUntil moved by %v without an answer", moved)
			}
			lost.Remove()
			redistest.Eventually(t, 10*time.Second, "a renewal is answered", func() bool { return hold.ValidUntil().After(until) })
			if got := r.held(t, "l"); !maps.Equal(got, map[string]string{hold.Owner(): "1"}) {
				t.Errorf("Redis has %v", got)
			}
			must(t, hold.Release(me))
			if n := c.Stats().Losses; n > 0 {
				t.Errorf("%d losses", n)
			}
			locktest.TidyWithin(t, r.Server, 10*time.Second, "l")
		})
	}
}
