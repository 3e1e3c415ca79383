package reentrant_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

var writeBehind = reentrant.WithHandoff(reentrant.WriteBehind)

// caller is a call of Acquire under way, or done.
type caller struct {
	ctx     context.Context
	granted chan *reentrant.Hold // nil if it ended with an error
	err     error                // set when granted is closed
}

// callFor begins a call for a named owner and returns when it waits.
func callFor(t testing.TB, c *reentrant.Client, l *reentrant.Lock, name string, opts ...reentrant.AcquireOption) *caller {
	t.Helper()
	return callIn(t, c, l, owner(t.Context(), name), opts...)
}

func callIn(t testing.TB, c *reentrant.Client, l *reentrant.Lock, ctx context.Context, opts ...reentrant.AcquireOption) *caller {
	t.Helper()
	waiting := c.Stats().Waiting
	p := &caller{ctx: ctx, granted: make(chan *reentrant.Hold, 1)}
	go func() { // ends with the call
		defer close(p.granted)
		var hold *reentrant.Hold
		if hold, p.err = l.Acquire(ctx, opts...); p.err == nil {
			p.granted <- hold
		}
	}()
	redistest.Eventually(t, 10*time.Second, "the call waits", func() bool { return c.Stats().Waiting > waiting })
	return p
}

// hold is what the call was granted.
func (p *caller) hold(t testing.TB, within time.Duration) *reentrant.Hold {
	t.Helper()
	h := inTime(t, within, "the lock is granted", p.granted)
	if h == nil {
		t.Fatalf("the call ended with %v", p.err)
	}
	return h
}

// follows waits until the hash has the one field of the hold and the count.
func follows(t testing.TB, s *redistest.Server, name string, h *reentrant.Hold, count string) {
	t.Helper()
	redistest.Eventually(t, 5*time.Second, "the hash follows the holder", func() bool {
		got := heldOn(t, s, name)
		return len(got) == 1 && got[h.Owner()] == count
	})
}

// note notes a tenure that ends now and was not lost: of one that was, nobody can say when its
// goroutine, which was kept waiting, would have looked.
func (h *tenures) note(who string, hold *reentrant.Hold, from time.Time) {
	until := time.Now()
	if ended(hold.Lost()) {
		return
	}
	if v := hold.ValidUntil(); v.Before(until) {
		until = v
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, tenure{who, from, until, hold.Token()})
}
