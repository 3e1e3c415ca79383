package watchdog_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/watchdog"
)

// The machine is suspended while a renewal is in flight, and the answer comes after the watchdog has looked
// at the clocks: the validity that it gives counts from before the suspension.
func TestFault29RenewalOverASuspension(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ahead atomic.Int64
		r := &redis{}
		r.answer = func(n int, _ context.Context, ts []watchdog.Target) []watchdog.Result {
			if n > 0 {
				return all(watchdog.Failed, ts)
			}
			ahead.Store(int64(15 * time.Second)) // suspended
			time.Sleep(1500 * time.Millisecond)  // the clocks are compared once a second
			return all(watchdog.Renewed, ts)
		}
		w := r.start(watchdog.Config{})
		defer closeNow(t, w)
		runAhead(w, &ahead)
		var h holder
		w.Add(&h.Watch, target(1), &h, renewable())
		after(12 * time.Second)
		if n := h.renewals(); n != 1 {
			t.Fatalf("renewed %d times", n)
		}
		end := h.renewed[0].Add(-15 * time.Second) // by the wall clock
		after(time.Minute)
		h.mustBeLost(t, end, watchdog.CauseExpired)
	})
}

// The same with a grant: the watch begins after the watchdog has looked at the clocks, with a validity from
// before the suspension. Another lease is watched meanwhile, so the watchdog is awake.
func TestFault29GrantOverASuspension(t *testing.T) {
	for _, renew := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var ahead atomic.Int64
			r := &redis{}
			w := r.start(watchdog.Config{})
			defer closeNow(t, w)
			runAhead(w, &ahead)
			var other, h holder
			w.Add(&other.Watch, target(0), &other, fixed(time.Hour))
			after(time.Second)
			granted := fixed(lease) // sent now
			granted.Renew = renew
			ahead.Store(int64(22 * time.Second)) // suspended
			after(1500 * time.Millisecond)
			w.Add(&h.Watch, target(1), &h, granted)
			end := granted.ValidUntil.Add(-22 * time.Second) // by the wall clock; 6.2 s from now
			if renew {
				after(6 * time.Second)
				if n := h.renewals(); n == 0 {
					t.Errorf("not renewed in the 6 s that are left")
				}
				return
			}
			after(time.Minute)
			h.mustBeLost(t, end, watchdog.CauseExpired)
		})
	}
}

// The first renewal after a suspension fails, as its connection is dead. There is time for another try.
func TestFault29RetryAfterASuspension(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ahead atomic.Int64
		r := &redis{}
		r.answer = func(n int, _ context.Context, ts []watchdog.Target) []watchdog.Result {
			if n == 0 {
				return all(watchdog.Failed, ts)
			}
			return all(watchdog.Renewed, ts)
		}
		w := r.start(watchdog.Config{})
		defer closeNow(t, w)
		runAhead(w, &ahead)
		var h holder
		w.Add(&h.Watch, target(1), &h, renewable())
		after(5 * time.Second)
		ahead.Store(int64(22 * time.Second)) // 2.7 s left, 1.7 s at the next look, renewal after 0.85 s, 0.85 s left then
		after(time.Minute)
		t.Log(r.asked)
		h.mustBeHeld(t)
	})
}

// The machine was suspended until shortly before the end of a lease, and before its renewal is
// due by the monotonic clock: it is renewed in time.
func TestFault29RenewedAfterASuspension(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ahead atomic.Int64
		w := (&redis{}).start(watchdog.Config{})
		defer closeNow(t, w)
		runAhead(w, &ahead)
		var h holder
		w.Add(&h.Watch, target(1), &h, renewable())
		after(5 * time.Second)
		ahead.Store(int64(22 * time.Second)) // 2.7 s left, 5 s to the renewal
		after(2500 * time.Millisecond)
		h.mustBeHeld(t)
		if n := h.renewals(); n != 1 {
			t.Errorf("renewed %d times", n)
		}
	})
}
