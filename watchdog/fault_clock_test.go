package watchdog_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/watchdog"
)

// Somebody sets the client's wall clock. Set back, it changes nothing: leases are renewed as
// ever, and one that is not renewed ends when it would have. Set forward it may be a
// suspension that is over, so what has ended by it is lost within a second, and what has not goes on.
// and ends so much sooner. In no case does a lease end late.
func TestFault29WallClockJumps(t *testing.T) {
	for _, jump := range []time.Duration{-24 * time.Hour, -time.Minute, 5 * time.Second, 19 * time.Second, 40 * time.Second, 24 * time.Hour} {
		t.Run(fmt.Sprint(jump), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var jumped atomic.Int64
				r := &redis{}
				w := r.start(watchdog.Config{})
				defer closeNow(t, w)
				runAhead(w, &jumped)
				var renewed, kept holder
				w.Add(&renewed.Watch, target(1), &renewed, renewable())
				w.Add(&kept.Watch, target(2), &kept, fixed(lease))
				began := time.Now()
				end := began.Add(validity)
				after(5 * time.Second)
				jumped.Store(int64(jump))
				after(time.Second)
				if lost := jump > validity-6*time.Second; lost {
					for _, h := range []*holder{&renewed, &kept} {
						if len(h.lost) != 1 || h.lost[0] != watchdog.CauseExpired || h.lostAt.Sub(began) > 6*time.Second {
							t.Fatalf("a lease that has ended by the wall clock: lost %v, %v after the start", h.lost, h.lostAt.Sub(began))
						}
					}
					if n := r.calls(); n != 0 {
						t.Fatalf("%d renewals of a lease that has ended", n)
					}
					return
				}
				after(time.Minute)
				if jump > 0 {
					end = end.Add(-jump) // by the wall clock
				}
				renewed.mustBeHeld(t)
				if n := renewed.renewals(); n < 6 {
					t.Errorf("renewed %d times in a minute", n)
				}
				kept.mustBeLost(t, end, watchdog.CauseExpired)
			})
		})
	}
}

// The wall clock is set forward in small steps, each too little for a look at all leases by
// itself. They add up: a lease that is over by the wall clock is lost within a second.
func TestFault29WallClockCreeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const step = 900 * time.Microsecond
		var ahead atomic.Int64
		w := (&redis{}).start(watchdog.Config{})
		defer closeNow(t, w)
		runAhead(w, &ahead)
		var h holder
		w.Add(&h.Watch, target(1), &h, fixed(lease))
		began := time.Now()
		for h.losses() == 0 {
			if over := time.Since(began) + time.Duration(ahead.Load()) - validity; over > 1100*time.Millisecond {
				t.Fatalf("not lost %v after its end by the wall clock", over)
			}
			time.Sleep(10 * time.Millisecond)
			ahead.Add(int64(step))
			w.Kick()
			synctest.Wait()
		}
		if early := validity - time.Since(began) - time.Duration(ahead.Load()); early > 0 {
			t.Errorf("lost %v before its end by the wall clock", early)
		}
	})
}

// Set forward and back again before the lease is over, the wall clock changes nothing.
func TestFault29WallClockForthAndBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ahead atomic.Int64
		w := (&redis{}).start(watchdog.Config{})
		defer closeNow(t, w)
		runAhead(w, &ahead)
		var h holder
		w.Add(&h.Watch, target(1), &h, fixed(lease))
		end := time.Now().Add(validity)
		after(5 * time.Second)
		ahead.Store(int64(15 * time.Second))
		after(2 * time.Second)
		ahead.Store(0)
		after(time.Minute)
		h.mustBeLost(t, end, watchdog.CauseExpired)
	})
}
