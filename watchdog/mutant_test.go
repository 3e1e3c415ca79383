package watchdog_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/watchdog"
)

// slowListener is a holder whose Renewed takes long.
type slowListener struct {
	holder
	takes time.Duration
}

func (h *slowListener) Renewed(validUntil time.Time) {
	h.holder.Renewed(validUntil)
	time.Sleep(h.takes)
}

// Two answers come in time, 1 s before the leases end. The watchdog's goroutine gets to the second
// one only after that end, as the first has kept it for so long. What counts is when an answer was
// received: both leases go on.
func TestMutantTimelyAnswerAppliedLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &redis{}
		w := r.start(watchdog.Config{Batch: 1})
		hs := make([]slowListener, 2)
		for i := range hs {
			hs[i].takes = 1500 * time.Millisecond
			w.Add(&hs[i].Watch, target(i), &hs[i], watchdog.Schedule{ValidUntil: time.Now().Add(2 * time.Second), Renew: true})
		}
		after(5 * time.Second)
		if r.calls() != 2 {
			t.Fatalf("%d calls, want one for each lease", r.calls())
		}
		for i := range hs {
			hs[i].mustBeHeld(t)
		}
		closeNow(t, w)
	})
}

// A call that was given up has come back: its helper counts as one at work again, and so
// one helper suffices for ten batches of 50 ms.
func TestMutantHelpersAfterAHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hangs = 1
		r := &redis{answer: func(n int, _ context.Context, ts []watchdog.Target) []watchdog.Result {
			if n < hangs {
				time.Sleep(lease / 3) // given up after a sixth
			}
			time.Sleep(50 * time.Millisecond)
			return all(watchdog.Renewed, ts)
		}}
		w := r.start(watchdog.Config{Batch: 10})
		hs := make([]holder, 100)
		for i := range hs {
			w.Add(&hs[i].Watch, target(i), &hs[i], renewable())
		}
		after(lease)
		if w.Stats().Failures != 10*hangs {
			t.Fatalf("stats %+v, want one batch given up", w.Stats())
		}
		r.mu.Lock()
		r.most = 0
		r.mu.Unlock()
		after(10 * lease)
		if r.most != 1 {
			t.Errorf("%d calls at a time, want 1", r.most)
		}
		for i := range hs {
			hs[i].mustBeHeld(t)
		}
		closeNow(t, w)
	})
}

// Calls that were given up have their places back once they return, however many there have been.
func TestMutantPlacesOfOverdueCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &redis{answer: func(n int, _ context.Context, ts []watchdog.Target) []watchdog.Result {
			if n%4 == 0 {
				time.Sleep(lease / 3) // given up after a sixth
			}
			return all(watchdog.Renewed, ts)
		}}
		w := r.start(watchdog.Config{})
		var h holder
		w.Add(&h.Watch, target(1), &h, renewable())
		after(100 * lease)
		if failed := w.Stats().Failures; failed < 40 {
			t.Errorf("%d calls were given up, too few to tell", failed)
		}
		h.mustBeHeld(t)
		closeNow(t, w)
	})
}

// The wall clock is set forward, back, and forward again by less: that the lease is over by
// it is found within a second the second time too.
func TestMutantWallClockForthBackAndForth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ahead atomic.Int64
		w := (&redis{}).start(watchdog.Config{})
		defer closeNow(t, w)
		runAhead(w, &ahead)
		var h holder
		w.Add(&h.Watch, target(1), &h, fixed(10*lease))
		for _, by := range []time.Duration{9 * lease, 0} {
			ahead.Store(int64(by))
			after(3 * time.Second)
			h.mustBeHeld(t)
		}
		w.Add(&h.Watch, target(1), &h, fixed(lease))
		after(3 * time.Second)
		ahead.Store(int64(lease))
		after(2 * time.Second)
		if h.losses() != 1 {
			t.Errorf("the lease is over by the wall clock, and its holder was told %d times", h.losses())
		}
	})
}

// A lease changes its target again and again. Each of that leaves the renewal where it is.
func TestMutantRetargetDoesNotPostpone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &redis{}
		w := r.start(watchdog.Config{})
		defer closeNow(t, w)
		var h holder
		began := time.Now()
		w.Add(&h.Watch, target(1), &h, renewable())
		for i := range 20 {
			after(time.Second)
			w.Retarget(&h.Watch, target(i))
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.asked) == 0 || r.asked[0].Sub(began) > lease/3 {
			t.Errorf("renewed %v after %v, want the first after a third of the lease", r.asked, began)
		}
	})
}

// A lease passes to another owner while a renewal for the one before is under way, whose
// answer is that this one does not hold it any more: that is no loss.
func TestMutantAnswerForTheOldTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &redis{answer: func(n int, _ context.Context, ts []watchdog.Target) []watchdog.Result {
			if n > 0 {
				return all(watchdog.Renewed, ts)
			}
			time.Sleep(time.Second)
			return all(watchdog.NotOwner, ts)
		}}
		w := r.start(watchdog.Config{})
		defer closeNow(t, w)
		var h holder
		w.Add(&h.Watch, target(1), &h, renewable())
		after(lease/3 + lease/60)
		if r.calls() != 1 {
			t.Fatalf("%d calls", r.calls())
		}
		w.Retarget(&h.Watch, watchdog.Target{Key: "lock:1", Owner: "next"})
		after(10 * lease)
		h.mustBeHeld(t)
	})
}
