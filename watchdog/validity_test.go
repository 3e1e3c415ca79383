package watchdog_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/watchdog"
)

func TestValidity(t *testing.T) {
	now := time.Now()
	for lease, want := range map[time.Duration]time.Duration{
		30 * time.Second:       30*time.Second - 302*time.Millisecond,
		100 * time.Millisecond: 97 * time.Millisecond,
		time.Millisecond:       -1010 * time.Microsecond,
	} {
		if got := watchdog.Validity(now, lease).Sub(now); got != want {
			t.Errorf("a lease of %v is valid for %v, want %v", lease, got, want)
		}
	}
}

func TestPassed(t *testing.T) {
	now := time.Now()
	until := now.Add(20 * time.Second)
	for _, c := range []struct {
		name       string
		mono, wall time.Duration // since now
		want       bool
	}{
		{"before", 19 * time.Second, 19 * time.Second, false},
		{"at the instant", 20 * time.Second, 20 * time.Second, true},
		{"after", 21 * time.Second, 21 * time.Second, true},
		{"the machine was suspended", time.Second, 25 * time.Second, true},
		{"the wall clock was set back", 21 * time.Second, -time.Hour, true},
		{"the wall clock was set back, before", 19 * time.Second, -time.Hour, false},
	} {
		wall := now.Round(0).Add(c.wall)
		if got := watchdog.PassedBy(until, now.Add(c.mono), wall); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if watchdog.Passed(now.Add(time.Hour)) || !watchdog.Passed(now) || !watchdog.Passed(time.Time{}) {
		t.Error("Passed is wrong about now, an hour from now, or the zero time")
	}
}

// The monotonic clock stands still during a suspension, the wall clock does
// not: leases that ended meanwhile are lost within a second, without a renewal,
// and the others go on.
func TestSuspendedMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slept atomic.Int64
		r := &redis{}
		w := r.start(watchdog.Config{})
		runAhead(w, &slept)
		hs := make([]holder, 1000)
		for i := range hs {
			s := renewable()
			if i%3 == 0 { // some end later, and are mixed with the others in the queue
				s.ValidUntil = s.ValidUntil.Add(time.Hour + time.Duration(i)*time.Millisecond)
			} else {
				s.ValidUntil = s.ValidUntil.Add(-time.Duration(i*7919%1000) * time.Millisecond)
			}
			w.Add(&hs[i].Watch, target(i), &hs[i], s)
		}
		after(4*time.Second + 500*time.Millisecond)
		slept.Store(int64(10 * time.Minute))
		after(time.Second)
		if r.calls() != 0 {
			t.Fatal("renewed")
		}
		for i := range hs {
			if lost := len(hs[i].lost) == 1; lost != (i%3 != 0) {
				t.Fatalf("lease %d: lost is %v", i, lost)
			}
		}
		after(time.Minute)
		if s := w.Stats(); s.Losses != 666 || s.Renewals != 334*6 {
			t.Fatalf("stats %+v", s)
		}
		closeNow(t, w)
	})
}

// A suspension that the watchdog has not noticed yet when a renewal is due, or
// while one is in flight.
func TestNoRenewalAfterSuspension(t *testing.T) {
	for _, at := range []time.Duration{10*time.Second - time.Nanosecond, 11 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			var slept atomic.Int64
			r := &redis{}
			r.answer = slow(3 * time.Second)
			w := r.start(watchdog.Config{})
			runAhead(w, &slept)
			h := &holder{}
			w.Add(&h.Watch, target(1), h, renewable())
			time.Sleep(at)
			slept.Store(int64(10 * time.Minute))
			if w.Update(&h.Watch, renewable()) {
				t.Fatal("Update revived a lease that had ended")
			}
			after(time.Minute)
			if len(h.lost) != 1 || h.renewals() != 0 || r.calls() > 1 {
				t.Fatalf("lost %v, renewed %v, %d calls", h.lost, h.renewed, r.calls())
			}
			if at < 10*time.Second && r.calls() != 0 {
				t.Fatal("a renewal was sent for a lease that had ended")
			}
			closeNow(t, w)
		})
	}
}

// The answer comes before the watchdog looks at the clocks again, and would
// extend the lease beyond now; but it was received too late.
func TestAnswerAfterSuspensionDoesNotRevive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slept atomic.Int64
		r := &redis{answer: slow(1200 * time.Millisecond)}
		w := r.start(watchdog.Config{})
		runAhead(w, &slept)
		h := &holder{}
		w.Add(&h.Watch, target(1), h, renewable())
		time.Sleep(11*time.Second + 100*time.Millisecond)
		slept.Store(int64(25 * time.Second))
		after(time.Minute)
		if len(h.lost) != 1 || h.renewals() != 0 {
			t.Fatalf("lost %v, renewed %d times", h.lost, h.renewals())
		}
		closeNow(t, w)
	})
}

// The second batch of a tick is not sent if its leases ended during the first.
func TestNoBatchAfterSuspension(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slept atomic.Int64
		r := &redis{answer: slow(500 * time.Millisecond)}
		w := r.start(watchdog.Config{Batch: 1})
		runAhead(w, &slept)
		var hs [2]holder
		for i := range hs {
			w.Add(&hs[i].Watch, target(i), &hs[i], renewable())
		}
		time.Sleep(10*time.Second + 200*time.Millisecond)
		slept.Store(int64(10 * time.Minute))
		after(time.Minute)
		if r.calls() != 1 || w.Stats().Losses != 2 {
			t.Fatalf("%d calls, %+v", r.calls(), w.Stats())
		}
		closeNow(t, w)
	})
}
