package faulttests

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// While Redis is silent the lock is passed on without a word to it. With a third of the lease
// left that ends, the holder is lost at its ValidUntil, everybody whose call has a limit is told,
// and nobody holds it after. When Redis is back there is nothing left of it.
func TestFault08BehindSilentRedis(t *testing.T) {
	t.Parallel()
	const lease = 1500 * time.Millisecond
	r := newFaultRig(t).warm(t)
	c := faultClient(t, r.through(t, locktest.Impatience(200*time.Millisecond)), reentrant.WithLease(lease), locktest.WriteBehind)
	l := c.NewLock("l")
	hold, err := l.Acquire(t.Context())
	must(t, err)
	var waiting []*locktest.Call
	for i := range 6 {
		waiting = append(waiting, locktest.CallFor(t, c, l, strconv.Itoa(i)))
	}
	r.proxy.Blackhole(true, true, faultproxy.Any)
	defer r.proxy.Heal()
	until := hold.ValidUntil()
	scripts := r.proxy.Commands("EVALSHA")
	began := time.Now()
	for _, next := range waiting[:4] {
		must(t, hold.Release(t.Context()))
		hold = next.Hold(t, time.Second)
	}
	if took := time.Since(began); took > lease/4 {
		t.Errorf("four hand-offs took %v", took)
	}
	if sent := r.proxy.Commands("EVALSHA") - scripts; sent > 3 {
		t.Errorf("%d scripts for four hand-offs", sent)
	}
	last := hold
	third := time.NewTimer(time.Until(until) - lease/3 + 20*time.Millisecond)
	defer third.Stop()
	<-third.C
	// One of the row holds the lock, and keeps it to the end.
	if last.ValidUntil() != until {
		t.Errorf("ValidUntil moved by %v while Redis was silent", last.ValidUntil().Sub(until))
	}
	locktest.InTime(t, time.Until(until)+500*time.Millisecond, "the loss", last.Lost())
	if early := time.Until(until); early > 0 {
		t.Errorf("lost %v early", early)
	}
	var why *reentrant.LostError
	if !errors.As(locktest.ContextCause(last), &why) || why.Reason != reentrant.LeaseEnded {
		t.Errorf("lost because of %v", locktest.ContextCause(last))
	}
	wants(t, last.Release(t.Context()), reentrant.ErrLost)
	r.proxy.Heal()
	for _, next := range waiting[4:] {
		hold := next.Hold(t, 5*time.Second)
		follows(t, r.Server, "l", hold, "1")
		must(t, hold.Release(t.Context()))
	}
	locktest.TidyWithin(t, r.Server, 5*time.Second, "l")
	if n := c.Stats().Losses; n != 1 {
		t.Errorf("%d losses", n)
	}
}

// With less than a third of the lease left the hand-off is confirmed, and waits for Redis: a
// waiter is not told that it has a lock that will be gone in a moment.
func TestFault08BehindWaitsForRedisNearTheEnd(t *testing.T) {
	t.Parallel()
	const lease = 900 * time.Millisecond
	r := newFaultRig(t).warm(t)
	c := faultClient(t, r.through(t, locktest.Impatience(5*time.Second)), reentrant.WithLease(lease), locktest.WriteBehind)
	l := c.NewLock("l")
	hold, err := l.Acquire(t.Context())
	must(t, err)
	until := hold.ValidUntil()
	waiter := locktest.CallFor(t, c, l, "next")
	r.proxy.Blackhole(true, true, faultproxy.Any)
	defer r.proxy.Heal()
	timer := time.NewTimer(time.Until(until) - lease/3 + 5*time.Millisecond)
	defer timer.Stop()
	<-timer.C
	released := inBackground(func() error { return hold.Release(t.Context()) })
	timer.Reset(100 * time.Millisecond)
	<-timer.C
	select {
	case h := <-waiter.Granted:
		t.Fatalf("%v with %v left and Redis silent", h, time.Until(h.ValidUntil()))
	default:
	}
	r.proxy.Heal()
	<-released // the lock may have run out before the answer
	next := waiter.Hold(t, 5*time.Second)
	if left := time.Until(next.ValidUntil()); left < lease/3 {
		t.Errorf("the next hold begins with %v left", left)
	}
	must(t, next.Release(t.Context()))
	locktest.TidyWithin(t, r.Server, 5*time.Second, "l")
}

// Redis comes back with nothing in the middle of a row of holds. The holder of that moment hears of
// it, the lock begins anew, and nobody who was told still believes that he has it.
func TestFault01BehindRestartEmpty(t *testing.T) {
	t.Parallel()
	const lease = 3 * time.Second
	s := redistest.Start(t)
	c := faultClient(t, s.Client(t), reentrant.WithLease(lease), locktest.WriteBehind)
	other := faultClient(t, s.Client(t), reentrant.WithLease(lease))
	var mine, theirs locktest.Tenures // each of one Client: between the two there may be an overlap until the loss is known
	var group sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	work := func(c *reentrant.Client, hist *locktest.Tenures, who string) {
		l, ctx2 := c.NewLock("l"), owner(t.Context(), who)
		for ctx.Err() == nil {
			hold, err := l.Acquire(ctx2)
			if err != nil {
				continue // Redis is away
			}
			from := time.Now()
			pause := time.NewTimer(300 * time.Microsecond)
			select {
			case <-pause.C:
			case <-hold.Lost():
			}
			hist.Note(who, hold, from)
			pause.Stop()
			_ = hold.Release(ctx2)
		}
	}
	for i := range 6 {
		group.Go(func() { work(c, &mine, strconv.Itoa(i)) })
	}
	group.Go(func() { work(other, &theirs, "other") })
	redistest.Eventually(t, 10*time.Second, "they hand it on", func() bool { return c.Stats().HandedOver > 100 })
	s.Restart()
	before, others := c.Stats().HandedOver, theirs.Len()
	redistest.Eventually(t, 2*lease, "they go on", func() bool { return c.Stats().HandedOver > before+100 && theirs.Len() > others+3 })
	cancel()
	group.Wait()
	mine.Disjoint(t, "of the write-behind client")
	theirs.Disjoint(t, "of the other")
	if st := c.Stats(); st.Held != 0 || st.Waiting != 0 {
		t.Errorf("stats %+v", st)
	}
	locktest.TidyWithin(t, s, 3*time.Second, "l")
}
