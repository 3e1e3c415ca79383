package reentrant_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/reentrant"
)

// Waiters get the lock in the order in which they came, each from the one before.
func TestBehindFirstComeFirstServed(t *testing.T) {
	onEveryServer(t, func(t *testing.T, b backend) {
		const waiters = 60
		c := newClient(t, b.client(), locktest.WriteBehind)
		l := c.NewLock("order")
		hold, err := l.Acquire(t.Context())
		must(t, err)
		var order []string // guarded by the lock
		var group sync.WaitGroup
		for i := range waiters {
			who := strconv.Itoa(i)
			waiter := locktest.CallFor(t, c, l, who)
			group.Go(func() {
				hold := <-waiter.Granted
				if hold == nil {
					t.Errorf("%s: %v", who, waiter.Err)
					return
				}
				order = append(order, who)
				if err := hold.Release(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		must(t, hold.Release(t.Context()))
		group.Wait()
		for i, who := range order {
			if who != strconv.Itoa(i) {
				t.Fatalf("order %v", order)
			}
		}
		if s := c.Stats(); s.HandedOver != waiters || s.Acquired != waiters+1 || s.Held != 0 || s.Waiting != 0 || s.Losses != 0 {
			t.Errorf("stats %+v", s)
		}
	})
}

// A hold that was handed on is over, and stays as it was at its end.
func TestBehindAHoldThatIsOver(t *testing.T) {
	onEveryServer(t, func(t *testing.T, b backend) {
		const lease = time.Minute
		c := newClient(t, b.client(), locktest.WriteBehind, reentrant.WithLease(lease))
		l := c.NewLock("order")
		a := owner(t.Context(), "a")
		first, err := l.Acquire(a)
		must(t, err)
		waiter := locktest.CallFor(t, c, l, "b")
		until := first.ValidUntil()
		must(t, first.Release(t.Context()))
		second := waiter.Hold(t, 5*time.Second)
		if left := time.Until(second.ValidUntil()); second.ValidUntil().Before(until) || left > lease {
			t.Errorf("the next hold is valid for %v", left)
		}
		if n := c.Stats().Held; n != 1 {
			t.Errorf("%d locks held, want 1", n)
		}
		behindMoves(t, l, second)
		if !first.ValidUntil().Equal(until) || !second.ValidUntil().After(until) {
			t.Errorf("ValidUntil of the hold that is over has moved by %v, of the other by %v",
				first.ValidUntil().Sub(until), second.ValidUntil().Sub(until))
		}
		wants(t, locktest.ContextCause(first), reentrant.ErrReleased)
		if ended(first.Lost()) || ended(second.Lost()) || second.Context().Err() != nil {
			t.Error("lost without a loss")
		}
		wants(t, first.Release(t.Context()), reentrant.ErrNotHeld)
		wants(t, l.Unlock(a), reentrant.ErrNotHeld)
		must(t, second.Release(t.Context()))
		if n := c.Stats().Held; n != 0 {
			t.Errorf("%d locks held, want 0", n)
		}
	})
}
