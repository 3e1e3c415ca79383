package reentrant_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// Redis forgets a fixed lease. Nothing asks about it, so that the holder hears of it at a nested
// Lock or at the release, and otherwise at its end.
func TestFault32FixedLeaseForgotten(t *testing.T) {
	const fixed = 30 * lease
	for _, test := range []struct {
		name   string
		ask    func(l *reentrant.Lock, h *reentrant.Hold) error // nil: nobody does
		reason reentrant.LossReason
	}{
		{"nested", func(l *reentrant.Lock, h *reentrant.Hold) error { return l.Lock(h.Context()) }, reentrant.Overridden},
		{"release", func(_ *reentrant.Lock, h *reentrant.Hold) error { return h.Release(h.Context()) }, reentrant.Overridden},
		{"the end", nil, reentrant.LeaseEnded},
	} {
		t.Run(test.name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				var lost atomic.Pointer[reentrant.LostError] // told by the watchdog
				c := v.client(reentrant.WithEvents(reentrant.Events{
					Lost: func(e reentrant.Event) {
						var why *reentrant.LostError
						errors.As(e.Err, &why)
						lost.Store(why)
					},
				}))
				l := c.NewLock("job")
				h, err := l.Acquire(v.ctx, reentrant.WithFixedLease(fixed))
				must(t, err)
				v.mini.FlushAll()
				v.scripts()
				v.pass(fixed / 2)
				if n := v.scripts(); n > 0 || lost.Load() != nil {
					t.Fatalf("%d scripts, lost: %v", n, lost.Load())
				}
				if test.ask != nil {
					wants(t, test.ask(l, h), reentrant.ErrLost)
				} else {
					v.pass(fixed/2 + time.Second)
					wants(t, h.Release(v.ctx), reentrant.ErrLost)
				}
				if why := lost.Load(); why == nil || why.Reason != test.reason {
					t.Errorf("lost: %#v, want %v", why, test.reason)
				}
			})
		})
	}
}
