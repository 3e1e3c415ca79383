package reentrant_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// waitUntilWaiting returns once the Client has a call that has subscribed and
// registered: from then on a release must reach it by a message.
func waitUntilWaiting(t *testing.T, s *redistest.Server, c *reentrant.Client, name string) {
	t.Helper()
	redistest.Eventually(t, 5*time.Second, "the waiter to be registered", func() bool {
		return s.Client(t).ZScore(t.Context(), "redlatch_waiters:{"+name+"}", c.ID()).Err() == nil
	})
}

// Waiters of several Clients get the lock in the order in which they came, each by
// a message and none by polling.
func TestWaitersAreWokenOneByOneInOrder(t *testing.T) {
	ctx := t.Context()
	s := redistest.Start(t)
	holder := newClient(t, s.Client(t)).NewLock("order")
	must(t, holder.Lock(ctx))

	const waiters = 5
	var order []int // guarded by the lock
	done := make(chan struct{})
	var clients []*reentrant.Client
	for i := range waiters {
		c := newClient(t, s.Client(t))
		clients = append(clients, c)
		go func() {
			defer func() { done <- struct{}{} }()
			l := c.NewLock("order")
			if err := l.Lock(ctx); err != nil {
				t.Error(err)
				return
			}
			order = append(order, i)
			if err := l.Unlock(ctx); err != nil {
				t.Error(err)
			}
		}()
		waitUntilWaiting(t, s, c, "order")
	}
	must(t, holder.Unlock(ctx))
	for range waiters {
		<-done
	}
	if !slices.IsSorted(order) {
		t.Errorf("order %v", order)
	}
	for i, c := range clients {
		if w := c.Stats().WakeUps; w.Message != 1 || w.Poll != 0 || w.TTL != 0 {
			t.Errorf("waiter %d: %+v", i, w)
		}
	}
}

// With Remote hand-off every release goes out, so two Clients with several waiters
// each take turns.
func TestRemoteHandOffTakesTurns(t *testing.T) {
	ctx := t.Context()
	s := redistest.Start(t)
	const each = 3
	clients := map[string]*reentrant.Client{
		"a": newClient(t, s.Client(t), reentrant.WithHandoff(reentrant.Remote)),
		"b": newClient(t, s.Client(t), reentrant.WithHandoff(reentrant.Remote)),
	}
	other := map[string]string{"a": "b", "b": "a"}
	must(t, clients["a"].NewLock("order").Lock(ctx))
	var order []string // guarded by the lock
	done := make(chan struct{})
	for id, c := range clients {
		for range each {
			go func() {
				defer func() { done <- struct{}{} }()
				l := c.NewLock("order")
				if err := l.Lock(ctx); err != nil {
					t.Error(err)
					return
				}
				order = append(order, id)
				if len(order) < 2*each {
					waitUntilWaiting(t, s, clients[other[id]], "order")
				}
				if err := l.Unlock(ctx); err != nil {
					t.Error(err)
				}
			}()
		}
	}
	waitUntilWaiting(t, s, clients["b"], "order")
	redistest.Eventually(t, 5*time.Second, "all to wait", func() bool {
		return clients["a"].Stats().Waiting == each && clients["b"].Stats().Waiting == each
	})
	must(t, clients["a"].NewLock("order").Unlock(ctx))
	for range 2 * each {
		<-done
	}
	if want := []string{"b", "a", "b", "a", "b", "a"}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
	for id, c := range clients {
		if n := c.Stats().HandedOver; n != 0 {
			t.Errorf("%s: %d hand-offs inside the Client", id, n)
		}
	}
}
