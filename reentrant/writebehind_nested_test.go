package reentrant_test

import (
	"context"
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/reentrant"
)

// behindMoves has the field moved, by a question, and checks it.
func behindMoves(t *testing.T, l *reentrant.Lock, h *reentrant.Hold) {
	t.Helper()
	if n, err := l.HoldCount(h.Context()); n != 1 || err != nil {
		t.Fatalf("HoldCount is %d, %v", n, err)
	}
}

// passedOn gives the lock from an owner a to a waiter b by a write-behind hand-off.
func passedOn(t *testing.T, c *reentrant.Client, l *reentrant.Lock) *reentrant.Hold {
	t.Helper()
	a := owner(t.Context(), "a")
	must(t, l.Lock(a))
	waiter := locktest.CallFor(t, c, l, "b")
	must(t, l.Unlock(a))
	return waiter.Hold(t, 5*time.Second)
}

// Right after a hand-off, with the field still that of the owner before, whoever asks through
// the Client hears of the holder.
func TestBehindQueries(t *testing.T) {
	onEveryServer(t, func(t *testing.T, b backend) {
		rdb := b.client()
		c, other := newClient(t, rdb, locktest.WriteBehind), newClient(t, b.client()).NewLock("order")
		l := c.NewLock("order")
		asks := map[string]func(a, b context.Context) (bool, error){
			"IsHeld of the holder":         func(_, b context.Context) (bool, error) { return l.IsHeld(b) },
			"not IsHeld of the one before": func(a, _ context.Context) (bool, error) { is, err := l.IsHeld(a); return !is, err },
			"HoldCount of the holder":      func(_, b context.Context) (bool, error) { n, err := l.HoldCount(b); return n == 1, err },
			"no HoldCount of the one before": func(a, _ context.Context) (bool, error) {
				n, err := l.HoldCount(a)
				return n == 0, err
			},
			"IsLocked":                     func(a, _ context.Context) (bool, error) { return l.IsLocked(a) },
			"IsLocked of another Client":   func(a, _ context.Context) (bool, error) { return other.IsLocked(a) },
			"not IsHeld of another Client": func(_, b context.Context) (bool, error) { is, err := other.IsHeld(b); return !is, err },
			"TTL":                          func(a, _ context.Context) (bool, error) { d, err := l.TTL(a); return d > 0, err },
		}
		for what, ask := range asks {
			hold := passedOn(t, c, l)
			if ok, err := ask(owner(t.Context(), "a"), owner(t.Context(), "b")); !ok || err != nil {
				t.Errorf("%s: %v, %v", what, ok, err)
			}
			must(t, hold.Release(t.Context()))
			if got := hash(t, rdb, "order"); len(got) > 0 {
				t.Fatalf("%s: after the release the hash is %v", what, got)
			}
		}
	})
}

// Nested locks right after a hand-off, by the holder's ctx on another goroutine: the hold
// count in the hash is the holder's at every step.
func TestBehindNested(t *testing.T) {
	onEveryServer(t, func(t *testing.T, b backend) {
		rdb := b.client()
		c := newClient(t, rdb, locktest.WriteBehind)
		l := c.NewLock("order")
		for range 10 {
			hold := passedOn(t, c, l)
			count := func(want int) {
				t.Helper()
				if got := hash(t, rdb, "order"); !maps.Equal(got, map[string]string{hold.Owner(): strconv.Itoa(want)}) {
					t.Fatalf("the hash is %v, want %s: %d", got, hold.Owner(), want)
				}
			}
			for want := 2; want <= 3; want++ {
				must(t, begin(func() error { return l.Lock(hold.Context()) }).wait())
				count(want)
			}
			if n, err := l.HoldCount(hold.Context()); n != 3 || err != nil {
				t.Fatalf("HoldCount is %d, %v", n, err)
			}
			for want := 2; want > 0; want-- {
				must(t, begin(func() error { return l.Unlock(owner(t.Context(), "b")) }).wait())
				count(want)
			}
			must(t, hold.Release(t.Context()))
			if got := hash(t, rdb, "order"); len(got) != 0 {
				t.Fatalf("the hash is %v", got)
			}
		}
	})
}

// Two calls of one owner wait, and others between them: when the owner is handed the lock the
// second call re-enters, and does not wait for itself.
func TestBehindOneOwnerWaitsTwice(t *testing.T) {
	onEveryServer(t, func(t *testing.T, b backend) {
		rdb := b.client()
		c := newClient(t, rdb, locktest.WriteBehind)
		l := c.NewLock("order")
		must(t, l.Lock(t.Context()))
		one, between, two := locktest.CallFor(t, c, l, "same"), locktest.CallFor(t, c, l, "between"), locktest.CallFor(t, c, l, "same")
		must(t, l.Unlock(t.Context()))
		first, second := one.Hold(t, 5*time.Second), two.Hold(t, 5*time.Second)
		if got := hash(t, rdb, "order"); !maps.Equal(got, map[string]string{first.Owner(): "2"}) {
			t.Errorf("the hash is %v", got)
		}
		must(t, first.Release(t.Context()))
		select {
		case h := <-between.Granted:
			t.Fatalf("%v while %v", h, second)
		default:
		}
		must(t, second.Release(t.Context()))
		must(t, between.Hold(t, 5*time.Second).Release(t.Context()))
	})
}
