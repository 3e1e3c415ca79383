package reentrant_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// Somebody writes over a lock: its holder has lost it, who waits for it is told,
// and the key stays as it was written, to the byte.
func TestFaultForeignKeyAppears(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := faultClient(t, s.Client(t), reentrant.WithLease(900*time.Millisecond))
	d := faultClient(t, s.Client(t))
	l, me := c.NewLock("l"), owner(t.Context(), "me")
	hold, err := l.Acquire(me)
	okay(t, err)
	locally, remotely := make(chan error, 1), make(chan error, 1)
	go func() { locally <- l.Lock(owner(t.Context(), "you")) }()
	go func() { remotely <- d.NewLock("l").Lock(me) }()
	redistest.Eventually(t, 5*time.Second, "both wait", func() bool {
		return c.Stats().Waiting == 1 && s.Do(t, "ZCARD", "redlatch_waiters:{l}").(int64) == 1
	})
	s.Do(t, "SET", "l", "something else", "EX", 1000)
	written := s.Do(t, "DUMP", "l")

	inTime(t, 5*time.Second, "the loss", hold.Lost())
	wants(t, hold.Release(me), reentrant.ErrLost)
	wants(t, inTime(t, 5*time.Second, "the waiter of this client is told", locally), reentrant.ErrForeignKey)
	wants(t, inTime(t, 2*firstPollLimit, "the waiter of the other client is told", remotely), reentrant.ErrForeignKey)
	wants(t, l.Lock(me), reentrant.ErrForeignKey)
	_, err = l.TryLock(me, 0, time.Minute)
	wants(t, err, reentrant.ErrForeignKey)
	_, err = l.IsLocked(me)
	wants(t, err, reentrant.ErrForeignKey)
	_, err = l.ForceUnlock(me)
	wants(t, err, reentrant.ErrForeignKey)
	if rate := rateOver(t, s, 500*time.Millisecond); rate > 20 {
		t.Errorf("%.0f scripts a second about a key that is not a lock", rate)
	}
	if now := s.Do(t, "DUMP", "l"); now != written {
		t.Errorf("the key was changed")
	}
	if ttl := s.Do(t, "TTL", "l").(int64); ttl < 900 {
		t.Errorf("its TTL was changed to %d s", ttl)
	}
}

// The holder itself finds it, by re-entry or by its unlock, before a renewal does.
func TestFaultForeignKeyUnderHolder(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := faultClient(t, s.Client(t))
	me := owner(t.Context(), "me")
	for _, use := range []string{"lock", "unlock", "inner unlock"} {
		l := c.NewLock(use)
		hold, err := l.Acquire(me)
		okay(t, err)
		okay(t, l.Lock(me))
		s.Do(t, "SET", use, "x")
		switch use {
		case "lock":
			wants(t, l.Lock(me), reentrant.ErrLost) // what matters to somebody who held it
			wants(t, l.Unlock(me), reentrant.ErrLost)
			wants(t, hold.Release(me), reentrant.ErrLost)
		case "unlock", "inner unlock":
			wants(t, l.Unlock(me), reentrant.ErrLost)
			wants(t, hold.Release(me), reentrant.ErrLost)
		}
		inTime(t, 5*time.Second, "the loss", hold.Lost())
		if v := s.Do(t, "GET", use); v != "x" {
			t.Errorf("%s: the key is %v", use, v)
		}
	}
	if n := c.Stats().Held; n > 0 {
		t.Errorf("%d held", n)
	}
}

// A lock without a TTL, made by hand: waiters poll for it, and have it soon after
// it was deleted, of which no message tells.
func TestFaultLockWithoutTTL(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := faultClient(t, s.Client(t))
	l, me := c.NewLock("l"), owner(t.Context(), "me")
	s.Do(t, "HSET", "l", "an administrator", "1")
	ttl, err := l.TTL(me)
	okay(t, err)
	if ttl >= 0 {
		t.Errorf("TTL of a lock without one is %v", ttl)
	}
	_, err = l.Acquire(me, reentrant.WithWait(0))
	var busy *reentrant.NotAcquiredError
	if !errors.As(err, &busy) || busy.Holder != "an administrator" || busy.TTL >= 0 {
		t.Errorf("Acquire: %+v", err)
	}
	done := make(chan error, 1)
	go func() { done <- l.Lock(me) }()
	redistest.Eventually(t, 5*time.Second, "it is registered", func() bool {
		return s.Do(t, "ZCARD", "redlatch_waiters:{l}").(int64) == 1
	})
	s.Do(t, "DEL", "l")
	okay(t, inTime(t, 2*firstPollLimit, "the waiter gets the lock", done))
	okay(t, l.Unlock(me))
	tidyWithin(t, s, 3*time.Second, "l")
}

// Whoever may publish can wake waiters for nothing, on the common channel and on
// their own. They try again at a bounded rate, and still get the lock at once.
func TestFaultPublishFlood(t *testing.T) {
	t.Parallel()
	noise := listenToNoise(t)
	s := redistest.Start(t)
	holder, waiter := faultClient(t, s.Client(t)), faultClient(t, s.Client(t))
	me := owner(t.Context(), "me")
	okay(t, holder.NewLock("l").Lock(me))
	done := make(chan error, 1)
	go func() { done <- waiter.NewLock("l").Lock(me) }()
	redistest.Eventually(t, 5*time.Second, "it is registered", func() bool {
		return s.Do(t, "ZCARD", "redlatch_waiters:{l}").(int64) == 1
	})
	var stops []func() int
	for _, channel := range []string{"redisson_lock__channel:{l}", "redisson_lock__channel:{l}:" + waiter.ID()} {
		stops = append(stops, repeat(t, s, time.Millisecond, "PUBLISH", channel, "0"))
	}
	rate := rateOver(t, s, 2*time.Second)
	okay(t, holder.NewLock("l").Unlock(me))
	start := time.Now()
	okay(t, inTime(t, 5*time.Second, "the waiter gets the lock", done))
	took := time.Since(start)
	sent := 0
	for _, stop := range stops {
		sent += stop()
	}
	t.Logf("%d messages, %.0f scripts a second, hand-off %v", sent, rate, took)
	if rate > 80 { // 50, and a burst of 20 at the beginning, for 2000 messages a second
		t.Errorf("%.0f scripts a second", rate)
	}
	if took > noise.allow(200*time.Millisecond) {
		t.Errorf("the waiter had the lock after %v", took)
	}
	okay(t, waiter.NewLock("l").Unlock(me))
	tidyWithin(t, s, 3*time.Second, "l")
}
