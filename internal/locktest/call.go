package locktest

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// WriteBehind has hand-offs inside the Client ask nobody.
var WriteBehind = reentrant.WithHandoff(reentrant.WriteBehind)

// Call is a call of Acquire under way, or done.
type Call struct {
	Ctx     context.Context
	Granted chan *reentrant.Hold // nil if it ended with an error
	Err     error                // set when Granted is closed
}

// CallFor begins a call for a named owner and returns when it waits.
func CallFor(t testing.TB, c *reentrant.Client, l *reentrant.Lock, name string, opts ...reentrant.AcquireOption) *Call {
	t.Helper()
	return CallIn(t, c, l, Owner(t.Context(), name), opts...)
}

// CallIn is CallFor with a ctx of the test's own.
func CallIn(t testing.TB, c *reentrant.Client, l *reentrant.Lock, ctx context.Context, opts ...reentrant.AcquireOption) *Call {
	t.Helper()
	waiting := c.Stats().Waiting
	p := &Call{Ctx: ctx, Granted: make(chan *reentrant.Hold, 1)}
	go func() { // ends with the call
		defer close(p.Granted)
		var hold *reentrant.Hold
		if hold, p.Err = l.Acquire(ctx, opts...); p.Err == nil {
			p.Granted <- hold
		}
	}()
	redistest.Eventually(t, 10*time.Second, "the call waits", func() bool { return c.Stats().Waiting > waiting })
	return p
}

// Hold is what the call was granted.
func (p *Call) Hold(t testing.TB, within time.Duration) *reentrant.Hold {
	t.Helper()
	h := InTime(t, within, "the lock is granted", p.Granted)
	if h == nil {
		t.Fatalf("the call ended with %v", p.Err)
	}
	return h
}
