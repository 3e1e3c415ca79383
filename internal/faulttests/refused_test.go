package faulttests

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// scriptCalls is how many scripts the server was asked to run, whether it did or
// refused.
func scriptCalls(t *testing.T, s *redistest.Server) (n int) {
	t.Helper()
	for _, command := range []string{"evalsha", "eval"} {
		var calls, ignored, refused int
		line := s.Info(t, "commandstats", "cmdstat_"+command)
		if line == "" {
			continue
		}
		for _, part := range strings.Split(line, ",") {
			fmt.Sscanf(part, "calls=%d", &calls)
			fmt.Sscanf(part, "rejected_calls=%d", &refused)
			fmt.Sscanf(part, "usec=%d", &ignored)
		}
		n += calls + refused
	}
	return n
}

// rateOver measures scripts a second over a while.
func rateOver(t *testing.T, s *redistest.Server, d time.Duration) float64 {
	t.Helper()
	before, start := scriptCalls(t, s), time.Now()
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
	return float64(scriptCalls(t, s)-before) / time.Since(start).Seconds()
}

// Row 30. Redis is full: who wants a lock is told why; who has one keeps it and can let go.
func TestFault30FullRedis(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := faultClient(t, s.Client(t), reentrant.WithLease(3*time.Second))
	l, me := c.NewLock("l"), owner(t.Context(), "me")
	must(t, l.Lock(me))
	must(t, l.Lock(me))
	yours := make(chan error, 1)
	go func() { yours <- l.Lock(owner(t.Context(), "you")) }()
	redistest.Eventually(t, 5*time.Second, "an owner waits", func() bool { return c.Stats().Waiting == 1 })

	s.Do(t, "CONFIG", "SET", "maxmemory", "1")
	full := func(what string, err error) {
		t.Helper()
		if err == nil || !errors.Is(err, reentrant.ErrNotAcquired) || !strings.Contains(err.Error(), "OOM") {
			t.Errorf("%s: %v", what, err)
		}
	}
	ok, err := c.NewLock("another").TryLock(me, 0, 0)
	if ok {
		t.Error("a full Redis gave a lock")
	}
	full("TryLock", err)
	full("Lock", c.NewLock("another").Lock(me))
	before := c.Stats().Renewals
	redistest.Eventually(t, 5*time.Second, "it is renewed", func() bool { return c.Stats().Renewals > before })
	// The inner unlock writes a count, which a full Redis refuses; the last one
	// needs no memory and frees the lock whatever the count.
	wants(t, l.Unlock(me), reentrant.ErrUnconfirmed)
	must(t, l.Unlock(me))
	full("the waiter", locktest.InTime(t, 5*time.Second, "the waiter is told", yours))
	locktest.FreeWithin(t, s, 0, "l")

	s.Do(t, "CONFIG", "SET", "maxmemory", "0")
	must(t, l.Lock(me))
	must(t, l.Unlock(me))
	if n := c.Stats().Losses; n > 0 {
		t.Errorf("%d losses", n)
	}
	locktest.TidyWithin(t, s, 3*time.Second, "l", "another")
}

// Row 25. Redis takes no writes for want of replicas: everything is refused, at a bounded
// rate, and comes right when they are back. Unlock is refused too, which says until when
// the lock stays.
func TestFault25NoReplicas(t *testing.T) {
	redistest.Needs(t, "6.2.7", "a check of min-replicas-to-write in scripts")
	t.Parallel()
	s := redistest.Start(t)
	c, d := faultClient(t, s.Client(t)), faultClient(t, s.Client(t))
	l, me := c.NewLock("l"), owner(t.Context(), "me")
	must(t, l.Lock(me))
	s.Do(t, "CONFIG", "SET", "min-replicas-to-write", "1")
	refused := func(what string, err error, sentinel error) {
		t.Helper()
		if !errors.Is(err, sentinel) || !strings.Contains(err.Error(), "NOREPLICAS") {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("Lock", c.NewLock("another").Lock(me), reentrant.ErrNotAcquired)
	if held := locktest.Held(t, s, "another"); len(held) > 0 {
		t.Errorf("a lock that was refused is held: %v", held)
	}

	ctx, cancel := context.WithTimeout(me, 10*time.Second)
	defer cancel()
	waited := make(chan error, 1)
	go func() { waited <- d.NewLock("l").Lock(ctx) }()
	redistest.Eventually(t, 5*time.Second, "somebody waits", func() bool { return d.Stats().Waiting == 1 })
	if rate := rateOver(t, s, time.Second); rate > 50 {
		t.Errorf("one waiter sent %.0f scripts a second", rate)
	}
	err := l.Unlock(me)
	refused("Unlock", err, reentrant.ErrUnconfirmed)
	var unconfirmed *reentrant.UnconfirmedError
	if errors.As(err, &unconfirmed) && (unconfirmed.FreeAfter <= 0 || unconfirmed.FreeAfter > 31*time.Second) {
		t.Errorf("free after %v", unconfirmed.FreeAfter)
	}
	if rate := rateOver(t, s, time.Second); rate > 100 {
		t.Errorf("one waiter and one clean-up sent %.0f scripts a second", rate)
	}
	s.Do(t, "CONFIG", "SET", "min-replicas-to-write", "0")
	// Not when its lease ends, which is half a minute off.
	if err := locktest.InTime(t, 10*time.Second, "the waiter's wait ends", waited); err == nil {
		must(t, d.NewLock("l").Unlock(me))
	} else {
		wants(t, err, reentrant.ErrNotAcquired)
	}
	locktest.TidyWithin(t, s, 5*time.Second, "l", "another")
}

// Row 25. Renewals are refused until the lease is over: the holder is told, the key ends
// with its lease, and a fixed lease that nobody has to renew is kept.
func TestFault25NoReplicasForALease(t *testing.T) {
	redistest.Needs(t, "6.2.7", "a check of min-replicas-to-write in scripts")
	t.Parallel()
	s := redistest.Start(t)
	c := faultClient(t, s.Client(t), reentrant.WithLease(2*time.Second))
	me := owner(t.Context(), "me")
	hold, err := c.NewLock("renewed").Acquire(me)
	must(t, err)
	must(t, c.NewLock("fixed").LockLease(me, time.Minute))
	s.Do(t, "CONFIG", "SET", "min-replicas-to-write", "1")
	locktest.InTime(t, 10*time.Second, "the loss", hold.Lost())
	var lost *reentrant.LostError
	if err := hold.Release(me); !errors.As(err, &lost) || lost.Reason != reentrant.LeaseEnded {
		t.Errorf("Release: %v", err)
	}
	if n := c.Stats().RenewFailures; n == 0 {
		t.Error("no renewal was refused")
	}
	locktest.FreeWithin(t, s, 5*time.Second, "renewed")
	s.Do(t, "CONFIG", "SET", "min-replicas-to-write", "0")
	must(t, c.NewLock("fixed").Unlock(me))
	locktest.TidyWithin(t, s, 5*time.Second, "renewed", "fixed")
}

// Row 21. Somebody's script keeps Redis busy for a while: a new call is told so, and nothing is lost.
func TestFault21BusyIsReported(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	s.Do(t, "CONFIG", "SET", "lua-time-limit", "10")
	c := faultClient(t, s.Client(t), reentrant.WithLease(1500*time.Millisecond))
	d := faultClient(t, s.Client(t))
	l, me := c.NewLock("l"), owner(t.Context(), "me")
	must(t, l.Lock(me))
	waited := make(chan error, 1)
	go func() { waited <- d.NewLock("l").Lock(me) }()
	redistest.Eventually(t, 5*time.Second, "it is registered", func() bool {
		return s.Do(t, "ZCARD", "redlatch_waiters:{l}").(int64) == 1
	})
	loop := make(chan error, 1)
	go func() { loop <- s.Admin().Do(t.Context(), "EVAL", "while true do end", "0").Err() }()
	redistest.Eventually(t, 5*time.Second, "Redis is busy", func() bool {
		err := s.Admin().Ping(t.Context()).Err()
		return err != nil && strings.HasPrefix(err.Error(), "BUSY")
	})
	// With a limit, lest the call outlives the lease of the other lock.
	if ok, err := c.NewLock("another").TryLock(me, 200*time.Millisecond, 0); ok || !errors.Is(err, reentrant.ErrNotAcquired) || !strings.Contains(err.Error(), "BUSY") {
		t.Errorf("TryLock on a busy Redis: %v", err)
	}
	failures := c.Stats().RenewFailures
	redistest.Eventually(t, 5*time.Second, "a renewal was refused", func() bool { return c.Stats().RenewFailures > failures })
	s.Do(t, "SCRIPT", "KILL")
	if err := <-loop; err == nil {
		t.Error("the loop ended by itself")
	}
	before := c.Stats().Renewals
	redistest.Eventually(t, 5*time.Second, "it is renewed", func() bool { return c.Stats().Renewals > before })
	must(t, l.Unlock(me))
	must(t, locktest.InTime(t, 5*time.Second, "the waiter gets the lock", waited))
	must(t, d.NewLock("l").Unlock(me))
	if n := c.Stats().Losses; n > 0 {
		t.Errorf("%d losses", n)
	}
	locktest.TidyWithin(t, s, 3*time.Second, "l", "another")
}
