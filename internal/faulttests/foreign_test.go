package faulttests

import (
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// Row 34. Somebody writes over a lock: its holder has lost it, who waits for it is told,
// and the key stays as it was written, to the byte.
func TestFault34ForeignKeyAppears(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := faultClient(t, s.Client(t), reentrant.WithLease(900*time.Millisecond))
	d := faultClient(t, s.Client(t))
	l, me := c.NewLock("l"), owner(t.Context(), "me")
	hold, err := l.Acquire(me)
	must(t, err)
	locally, remotely := make(chan error, 1), make(chan error, 1)
	go func() { locally <- l.Lock(owner(t.Context(), "you")) }()
	go func() { remotely <- d.NewLock("l").Lock(me) }()
	redistest.Eventually(t, 5*time.Second, "both wait", func() bool {
		return c.Stats().Waiting == 1 && s.Do(t, "ZCARD", "redlatch_waiters:{l}").(int64) == 1
	})
	s.Do(t, "SET", "l", "something else", "EX", 1000)
	written := s.Do(t, "DUMP", "l")

	locktest.InTime(t, 5*time.Second, "the loss", hold.Lost())
	wants(t, hold.Release(me), reentrant.ErrLost)
	wants(t, locktest.InTime(t, 5*time.Second, "the waiter of this client is told", locally), reentrant.ErrForeignKey)
	wants(t, locktest.InTime(t, 2*firstPollLimit, "the waiter of the other client is told", remotely), reentrant.ErrForeignKey)
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

// Row 34. The holder itself finds it, by re-entry or by its unlock, before a renewal does.
func TestFault34ForeignKeyUnderHolder(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := faultClient(t, s.Client(t))
	me := owner(t.Context(), "me")
	for _, use := range []string{"lock", "unlock", "inner unlock"} {
		l := c.NewLock(use)
		hold, err := l.Acquire(me)
		must(t, err)
		must(t, l.Lock(me))
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
		locktest.InTime(t, 5*time.Second, "the loss", hold.Lost())
		if v := s.Do(t, "GET", use); v != "x" {
			t.Errorf("%s: the key is %v", use, v)
		}
	}
	if n := c.Stats().Held; n > 0 {
		t.Errorf("%d held", n)
	}
}

// Row 35. A lock without a TTL, made by hand: waiters poll for it, and have it soon after
// it was deleted, of which no message tells, or forced.
func TestFault35LockWithoutTTL(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := faultClient(t, s.Client(t))
	me := owner(t.Context(), "me")
	for name, free := range map[string]func(l *reentrant.Lock) error{
		"deleted": func(l *reentrant.Lock) error { s.Do(t, "DEL", l.Name()); return nil },
		"forced": func(l *reentrant.Lock) error {
			freed, err := l.ForceUnlock(owner(t.Context(), "an operator"))
			if !freed {
				t.Error("nothing was freed")
			}
			return err
		},
	} {
		l := c.NewLock(name)
		s.Do(t, "HSET", name, "an administrator", "1")
		ttl, err := l.TTL(me)
		must(t, err)
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
			return s.Do(t, "ZCARD", "redlatch_waiters:{"+name+"}").(int64) == 1
		})
		if ttl := s.Do(t, "PTTL", name).(int64); ttl != -1 {
			t.Errorf("the lock of somebody else was given a TTL of %d ms", ttl)
		}
		must(t, free(l))
		must(t, locktest.InTime(t, 10*time.Second, "the waiter gets the lock", done))
		if ttl := s.Do(t, "PTTL", name).(int64); ttl <= 0 {
			t.Errorf("our lock has a TTL of %d ms", ttl)
		}
		must(t, l.Unlock(me))
	}
	locktest.TidyWithin(t, s, 5*time.Second, "deleted", "forced")
}
