package reentrant_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
)

// subscribers counts the subscriptions to a lock's common channel.
func subscribers(t *testing.T, s *redistest.Server, name string) int64 {
	t.Helper()
	channel := "redisson_lock__channel:{" + name + "}"
	return s.Admin().PubSubNumSub(t.Context(), channel).Val()[channel]
}

// While Go clients pass a lock among themselves a release is told to the one that is woken
// and to the first in line, and not to all who wait.
func TestOnlyTheFirstOverhears(t *testing.T) {
	s := redistest.Start(t)
	holder := newClient(t, s.Client(t)).NewLock("l")
	must(t, holder.Lock(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	for range 6 {
		c := newClient(t, s.Client(t))
		done := make(chan struct{})
		go func() { // ends with ctx
			defer close(done)
			_ = c.NewLock("l").Lock(ctx)
		}()
		defer func() { <-done }()
		waitUntilWaiting(t, s, c, "l")
	}
	defer cancel()
	redistest.Eventually(t, 5*time.Second, "the first one overhears", func() bool { return subscribers(t, s, "l") == 1 })
	must(t, holder.Unlock(t.Context()))
}

// Redisson holds the lock: a waiter that sees so is there for its release, which wakes
// nobody by name. Its owners are those whose UUID has version 4.
func TestRedissonsHolderIsOverheard(t *testing.T) {
	s := redistest.Start(t)
	field := "0f8fad5b-d9cb-469f-a165-70867728950e:1"
	must(t, s.Admin().HSet(t.Context(), "l", field, 1).Err())
	must(t, s.Admin().PExpire(t.Context(), "l", time.Hour).Err())
	var waiters []*locktest.Call
	for i, name := range []string{"a", "b"} {
		c := newClient(t, s.Client(t))
		waiters = append(waiters, locktest.CallFor(t, c, c.NewLock("l"), name))
		waitUntilWaiting(t, s, c, "l")
		redistest.Eventually(t, 5*time.Second, "it overhears", func() bool { return subscribers(t, s, "l") == int64(i+1) })
	}
	must(t, s.Admin().Del(t.Context(), "l").Err())
	must(t, s.Admin().Publish(t.Context(), "redisson_lock__channel:{l}", "0").Err())
	for range waiters {
		select {
		case h := <-waiters[0].Granted:
			must(t, h.Release(t.Context()))
			waiters[0].Granted = nil
		case h := <-waiters[1].Granted:
			must(t, h.Release(t.Context()))
			waiters[1].Granted = nil
		case <-time.After(5 * time.Second):
			t.Fatal("nobody has the lock")
		}
	}
}

// A Client's ID is a UUID of version 8, by which it is told from one of Redisson's.
func TestIDIsOfRedlatch(t *testing.T) {
	m, _ := redistest.Mini(t)
	c := newClient(t, redistest.MiniClient(t, m))
	if id := c.ID(); len(id) != 36 || id[14] != '8' {
		t.Errorf("ID is %q", id)
	}
	if other := newClient(t, redistest.MiniClient(t, m)); other.ID() == c.ID() {
		t.Errorf("two Clients with one ID: %q", c.ID())
	}
}
