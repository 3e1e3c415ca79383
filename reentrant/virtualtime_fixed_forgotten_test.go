package reentrant_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
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
			locktest.Each(t, []locktest.Kind{locktest.Plain, locktest.Write, locktest.Fair}, func(t *testing.T, k locktest.Kind) {
				inVirtualTime(t, func(t *testing.T, v *virtual) {
					var lost atomic.Pointer[reentrant.LostError] // told by the watchdog
					c := v.client(reentrant.WithEvents(reentrant.Events{
						Lost: func(e reentrant.Event) {
							var why *reentrant.LostError
							errors.As(e.Err, &why)
							lost.Store(why)
						},
					}))
					l := k.Held(c, "job")
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
					v.pass(0) // events have a goroutine of their own
					if why := lost.Load(); why == nil || why.Reason != test.reason {
						t.Errorf("lost: %#v, want %v", why, test.reason)
					}
				})
			})
		})
	}
}

// A fixed read is asked about: Redisson's watchdog may have made the TTL of its lock shorter (read_renew). Its holder hears of
// the loss as of that of a renewed hold.
func TestFault32FixedReadForgotten(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		h, err := locktest.FixedRead.Acquire(v.ctx, c, "job")
		must(t, err)
		v.pass(5 * lease)
		v.mini.FlushAll()
		forgot := time.Now()
		<-h.Lost()
		if d := time.Since(forgot); d > lease/3 {
			t.Errorf("told after %v", d)
		}
		wants(t, h.Release(v.ctx), reentrant.ErrLost)
		must(t, locktest.FixedRead.Rival(v.client(), "job").Lock(v.ctx))
	})
}
