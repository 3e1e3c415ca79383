package faulttests

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// Services that share a lock are not set up alike: other leases, other ways to hand it
// over, limits, replicas or not. They exclude each other all the same, and
// everybody's hold lives as long as his own lease says.
func TestFault60DifferentSettings(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	var clients []*reentrant.Client
	for _, opts := range [][]reentrant.Option{
		{reentrant.WithLease(3 * time.Second)},
		{reentrant.WithLease(time.Hour), locktest.WriteBehind},
		{reentrant.WithLease(5 * time.Second), reentrant.WithHandoff(reentrant.Remote)},
		{reentrant.WithMaxHold(time.Minute)},
		{reentrant.WithPlainPubSub(), locktest.WriteBehind},
		{reentrant.WithPrefix("shared:")},
	} {
		clients = append(clients, faultClient(t, s.Client(t), opts...))
	}
	lockOf := func(i int) *reentrant.Lock {
		if i == len(clients)-1 {
			return clients[i].NewLock("l") // the prefix is part of the key
		}
		return clients[i].NewLock("shared:l")
	}
	number := 0 // guarded by the lock
	var group sync.WaitGroup
	for i := range clients {
		for g := range 3 {
			group.Go(func() {
				me := owner(t.Context(), fmt.Sprint("g", g))
				for range 30 {
					if err := lockOf(i).Do(me, func(context.Context) error { number++; return nil }); err != nil {
						t.Errorf("client %d: %v", i, err)
						return
					}
				}
			})
		}
	}
	group.Wait()
	if want := len(clients) * 3 * 30; number != want {
		t.Errorf("counted to %d, want %d", number, want)
	}
	for _, c := range clients {
		locktest.CloseQuickly(t, c)
	}
	locktest.TidyWithin(t, s, 3*time.Second, "shared:l")
}

// What stands at the key was written by somebody else in a form of its own: another library's fields, a count that is no number. It is a lock
// that is held; nothing of it is changed, counted or taken for one's own.
func TestFault60ForeignLayout(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := faultClient(t, s.Client(t))
	me := owner(t.Context(), "me")
	for what, fields := range map[string]map[string]string{
		"Redisson's lock":         {"0f9a3b9e-9c1b-4b4e-9a43-1d0d2d6f8a55:73": "2"},
		"no count":                {"somebody": "yes"},
		"a count of nought":       {"somebody": "0"},
		"several holders":         {"a": "1", "b": "1", "c": "1"},
		"another owner's of mine": {c.ID() + ":you": "1"},
		"a field with my id only": {c.ID(): "1"},
	} {
		l := c.NewLock(what)
		for field, value := range fields {
			s.Do(t, "HSET", what, field, value)
		}
		s.Do(t, "PEXPIRE", what, "3600000")
		before := bytesOf(t, s, what)
		if ok, err := l.TryLock(me, 20*time.Millisecond, 0); ok {
			t.Errorf("%s: taken, %v", what, err)
		}
		if locked, err := l.IsLocked(me); !locked || err != nil {
			t.Errorf("%s: IsLocked is %v, %v", what, locked, err)
		}
		if n, err := l.HoldCount(me); n != 0 || err != nil {
			t.Errorf("%s: held %d times, %v", what, n, err)
		}
		wants(t, l.Unlock(me), reentrant.ErrNotHeld)
		if after := bytesOf(t, s, what); after != before || !maps.Equal(locktest.Held(t, s, what), fields) {
			t.Errorf("%s: was %v, is %v", what, fields, locktest.Held(t, s, what))
		}
		if freed, err := l.ForceUnlock(me); !freed || err != nil {
			t.Errorf("%s: ForceUnlock is %v, %v", what, freed, err)
		}
		must(t, l.Lock(me))
		must(t, l.Unlock(me))
	}
}

// Redisson's read-write lock under the name of a plain lock is no lock of that kind: each call says so, and changes
// nothing.
func TestFault60ReadWriteLayout(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := faultClient(t, s.Client(t))
	me := owner(t.Context(), "me")
	l := c.NewLock("rw")
	s.Do(t, "HSET", "rw", "mode", "read", "0f9a3b9e-9c1b-4b4e-9a43-1d0d2d6f8a55:73", "1")
	s.Do(t, "PEXPIRE", "rw", "3600000")
	before := bytesOf(t, s, "rw")
	wants(t, l.Lock(me), reentrant.ErrForeignKey)
	_, err := l.IsLocked(me)
	wants(t, err, reentrant.ErrForeignKey)
	_, err = l.ForceUnlock(me)
	wants(t, err, reentrant.ErrForeignKey)
	_, err = l.Info(me)
	wants(t, err, reentrant.ErrForeignKey)
	if after := bytesOf(t, s, "rw"); after != before {
		t.Errorf("was %v, is %v", before, after)
	}
}
