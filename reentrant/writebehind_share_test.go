package reentrant_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// Two Clients with eight goroutines each want one lock all the time, one of them or both
// write-behind: both get their share, and every goroutine has its turns.
func TestBehindSharesWithAnotherClient(t *testing.T) {
	for _, modes := range [][2]reentrant.Handoff{
		{reentrant.WriteBehind, reentrant.WriteBehind},
		{reentrant.WriteBehind, reentrant.Confirmed},
	} {
		s := redistest.Start(t)
		var turns [2][8]int // guarded by the lock
		var order []int     // guarded by the lock: which client had it, once for each run of turns
		ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
		defer cancel()
		var group sync.WaitGroup
		for i, mode := range modes {
			c := newClient(t, s.Client(t), reentrant.WithHandoff(mode))
			l := c.NewLock("l")
			for g := range turns[i] {
				group.Go(func() {
					for ctx.Err() == nil {
						if err := l.Lock(t.Context()); err != nil {
							t.Error(err)
							return
						}
						turns[i][g]++
						if len(order) == 0 || order[len(order)-1] != i {
							order = append(order, i)
						}
						if err := l.Unlock(t.Context()); err != nil {
							t.Error(err)
						}
					}
				})
			}
		}
		group.Wait()
		var sum [2]int
		for i := range turns {
			for g, n := range turns[i] {
				if n < 2 {
					t.Errorf("modes %v: goroutine %d of client %d had %d turns", modes, g, i, n)
				}
				sum[i] += n
			}
		}
		t.Logf("modes %v: %v turns, %d changes between the clients", modes, sum, len(order))
		// Turns within the process are shorter for the one than for the other, so the share
		// is one of time: how often the lock came to each.
		if len(order) < 40 {
			t.Errorf("modes %v: the lock changed clients %d times, with %v turns", modes, len(order), sum)
		}
		if modes[0] == modes[1] && 5*min(sum[0], sum[1]) < max(sum[0], sum[1]) {
			t.Errorf("modes %v: %v turns", modes, sum)
		}
	}
}

// A waiter of another Client gets the lock within 16 long turns, however many wait here; and
// what it waits for is turns and not its poll.
func TestBehindAnotherClientGetsItsTurn(t *testing.T) {
	const held, rounds = 2 * time.Millisecond, 5
	s := redistest.Start(t)
	c, other := newClient(t, s.Client(t), locktest.WriteBehind), newClient(t, s.Client(t))
	l, theirs := c.NewLock("l"), other.NewLock("l")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	turns := 0 // guarded by the lock
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for ctx.Err() == nil {
				if err := l.Lock(t.Context()); err != nil {
					t.Error(err)
					return
				}
				turns++
				time.Sleep(held)
				if err := l.Unlock(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	redistest.Eventually(t, 10*time.Second, "they hand it on", func() bool { return c.Stats().HandedOver > 20 })
	for i := range rounds {
		ctx := owner(t.Context(), strconv.Itoa(i))
		before := c.Stats().HandedOver
		must(t, theirs.Lock(ctx))
		// 16 since it was known, 10 ms until then, and the way there.
		if got := c.Stats().HandedOver - before; got > 16+10+uint64(20*time.Millisecond/held) {
			t.Errorf("%d hand-offs while another client waits", got)
		}
		must(t, theirs.Unlock(ctx))
	}
	cancel()
	group.Wait()
	// A lost wake-up would show as a poll: the lease is 30 s. A TTL is the end of a turn: the attempt has found the
	// lock free and kept for c, and on a busy machine c takes longer than that to hand it on.
	if w := other.Stats().WakeUps; w.Poll > 0 {
		t.Errorf("the other client was not woken: %+v", w)
	}
}
