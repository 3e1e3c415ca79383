package watchdog_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/redlatch/redlatch/watchdog"
)

func TestRenewsEveryThirdForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &redis{}
		w := r.start(watchdog.Config{})
		start := time.Now()
		h := &holder{}
		w.Add(&h.Watch, target(1), h, renewable())
		after(time.Hour)
		h.mustBeHeld(t)
		if got := r.calls(); got != 360 {
			t.Fatalf("%d renewals in an hour, want 360", got)
		}
		for i, at := range r.asked {
			if want := time.Duration(i+1) * lease / 3; at.Sub(start) != want {
				t.Fatalf("renewal %d after %v, want %v", i, at.Sub(start), want)
			}
			if want := at.Add(validity); !h.renewed[i].Equal(want) {
				t.Fatalf("renewal %d valid until %v, want %v", i, h.renewed[i], want)
			}
		}
		if got := w.ValidUntil(&h.Watch); !got.Equal(h.renewed[359]) {
			t.Fatalf("ValidUntil is %v", got)
		}
		if s := w.Stats(); s != (watchdog.Stats{Calls: 360, Renewals: 360}) {
			t.Fatalf("stats %+v", s)
		}
		closeNow(t, w)
		if !w.Remove(&h.Watch) || w.Remove(&h.Watch) {
			t.Fatal("Remove after Close: want true, then false")
		}
	})
}

// Validity counts from before the command, however long the answer takes.
func TestValidityCountsFromSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &redis{answer: func(_ int, _ context.Context, ts []watchdog.Target) []watchdog.Result {
			time.Sleep(4 * time.Second)
			return all(watchdog.Renewed, ts)
		}}
		w := r.start(watchdog.Config{})
		start := time.Now()
		h := &holder{}
		w.Add(&h.Watch, target(1), h, renewable())
		after(13 * time.Second)
		if got := w.ValidUntil(&h.Watch); !got.Equal(start.Add(validity)) {
			t.Fatal("ValidUntil moved before the answer was received")
		}
		after(time.Second)
		if got, want := w.ValidUntil(&h.Watch), start.Add(lease/3+validity); !got.Equal(want) {
			t.Fatalf("ValidUntil is %v off", got.Sub(want))
		}
		closeNow(t, w)
	})
}

func TestFailuresShorterThanTwoThirdsLoseNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		down := func() bool {
			d := time.Since(start)
			return d > 9*time.Second && d < 29*time.Second+600*time.Millisecond
		}
		r := &redis{answer: func(_ int, _ context.Context, ts []watchdog.Target) []watchdog.Result {
			if down() {
				return all(watchdog.Failed, ts)
			}
			return all(watchdog.Renewed, ts)
		}}
		w := r.start(watchdog.Config{})
		h := &holder{}
		w.Add(&h.Watch, target(1), h, renewable())
		after(time.Minute)
		h.mustBeHeld(t)
		if n := len(r.failures); n < 6 || n > 20 {
			t.Fatalf("OnFailure heard %d failures, want about a dozen", n)
		}
		if !errors.Is(r.failures[0], errRedis) {
			t.Fatalf("OnFailure heard %v", r.failures[0])
		}
		if s := w.Stats(); int(s.Failures) != len(r.failures) || s.Losses != 0 {
			t.Fatalf("stats %+v", s)
		}
		closeNow(t, w)
	})
}

func TestFailingForeverExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &redis{answer: func(_ int, _ context.Context, ts []watchdog.Target) []watchdog.Result {
			return all(watchdog.Failed, ts)
		}}
		w := r.start(watchdog.Config{})
		h := &holder{}
		s := renewable()
		w.Add(&h.Watch, target(1), h, s)
		after(time.Minute)
		h.mustBeLost(t, s.ValidUntil, watchdog.CauseExpired)
		if n := r.calls(); n > 30 {
			t.Fatalf("%d tries: spins", n)
		}
		if w.Update(&h.Watch, renewable()) || w.Remove(&h.Watch) || w.Len() != 0 {
			t.Fatal("still watched after its loss")
		}
		closeNow(t, w)
	})
}

func TestHangingRedisLosesOnTimeWithFourCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		r := &redis{answer: func(_ int, _ context.Context, ts []watchdog.Target) []watchdog.Result {
			<-hang
			return all(watchdog.Renewed, ts)
		}}
		w := r.start(watchdog.Config{})
		start := time.Now()
		var hs [10]holder
		for i := range hs {
			w.Add(&hs[i].Watch, target(i), &hs[i], renewable())
		}
		after(time.Hour)
		for i := range hs {
			hs[i].mustBeLost(t, start.Add(validity), watchdog.CauseExpired)
		}
		if r.most != watchdog.MaxHelpers || r.calls() != watchdog.MaxHelpers {
			t.Fatalf("%d calls, %d at a time, want 4", r.calls(), r.most)
		}
		for i, at := range r.asked {
			if want := lease/3 + time.Duration(i)*lease/6; at.Sub(start) != want {
				t.Errorf("try %d after %v, want %v", i, at.Sub(start), want)
			}
		}
		// 10 leases timed out of each of the 3 calls that did so before the end.
		if s := w.Stats(); s.Failures != 30 || s.Losses != 10 {
			t.Errorf("stats %+v", s)
		}
		if !errors.Is(r.failures[0], watchdog.ErrNoAnswer) {
			t.Errorf("OnFailure heard %v", r.failures[0])
		}

		// One lease more: what is sent for it hangs too. It is lost on time,
		// and the answers that come at last touch nobody.
		h := &holder{}
		s := renewable()
		w.Add(&h.Watch, target(11), h, s)
		after(time.Minute)
		h.mustBeLost(t, s.ValidUntil, watchdog.CauseExpired)
		close(hang)
		synctest.Wait()
		if w.Stats().Renewals != 0 {
			t.Error("an answer for a lost lease counted")
		}

		// And Redis works again.
		h = &holder{}
		w.Add(&h.Watch, target(12), h, renewable())
		after(time.Minute)
		h.mustBeHeld(t)
		closeNow(t, w)
	})
}

func TestHangingRedisShortLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lease = 600 * time.Millisecond
		hang := make(chan struct{})
		r := &redis{answer: func(_ int, _ context.Context, ts []watchdog.Target) []watchdog.Result {
			<-hang
			return nil
		}}
		w := r.start(watchdog.Config{Lease: lease})
		start := time.Now()
		h := &holder{}
		s := watchdog.Schedule{ValidUntil: watchdog.Validity(start, lease), Renew: true}
		w.Add(&h.Watch, target(1), h, s)
		after(time.Second)
		h.mustBeLost(t, s.ValidUntil, watchdog.CauseExpired)
		for i, at := range r.asked {
			if want := lease/3 + time.Duration(i)*lease/6; at.Sub(start) != want {
				t.Errorf("try %d after %v, want %v", i, at.Sub(start), want)
			}
		}
		close(hang)
		closeNow(t, w)
	})
}

func TestLateAnswerStillCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &redis{answer: func(n int, ctx context.Context, ts []watchdog.Target) []watchdog.Result {
			if n == 0 { // given up at 15 s, answers at 28 s
				time.Sleep(18 * time.Second)
				return all(watchdog.Renewed, ts)
			}
			<-ctx.Done() // never gets through
			return all(watchdog.Failed, ts)
		}}
		w := r.start(watchdog.Config{})
		start := time.Now()
		h := &holder{}
		w.Add(&h.Watch, target(1), h, renewable())
		after(29 * time.Second)
		if got, want := w.ValidUntil(&h.Watch), start.Add(lease/3+validity); !got.Equal(want) {
			t.Fatalf("ValidUntil is %v off", got.Sub(want))
		}
		after(time.Minute)
		h.mustBeLost(t, start.Add(lease/3+validity), watchdog.CauseExpired)
		closeNow(t, w)
	})
}

func TestAnswerAfterValidityDoesNotRevive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &redis{answer: func(_ int, _ context.Context, ts []watchdog.Target) []watchdog.Result {
			time.Sleep(validity - lease/3 + time.Nanosecond)
			return all(watchdog.Renewed, ts)
		}}
		w := r.start(watchdog.Config{})
		h := &holder{}
		s := renewable()
		w.Add(&h.Watch, target(1), h, s)
		after(time.Minute)
		h.mustBeLost(t, s.ValidUntil, watchdog.CauseExpired)
		if h.renewals() != 0 {
			t.Fatal("renewed after its loss")
		}
		closeNow(t, w)
	})
}

func TestNotOwnerLosesAtOnceAndAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &redis{answer: func(n int, _ context.Context, ts []watchdog.Target) []watchdog.Result {
			res := all(watchdog.Renewed, ts)
			for i := range ts {
				switch {
				case n > 0:
				case ts[i] == target(1):
					res[i].Outcome = watchdog.NotOwner
				case ts[i] == target(2):
					res[i] = watchdog.Result{Outcome: watchdog.Failed, Err: errRedis}
				case ts[i] == target(3):
					res[i] = watchdog.Result{} // never filled in
				}
			}
			return res
		}}
		w := r.start(watchdog.Config{})
		start := time.Now()
		var hs [5]holder
		for i := range hs {
			w.Add(&hs[i].Watch, target(i), &hs[i], renewable())
		}
		after(10 * time.Second)
		hs[1].mustBeLost(t, start.Add(lease/3), watchdog.CauseNotOwner)
		if w.Len() != 4 {
			t.Fatalf("%d watched, want 4", w.Len())
		}
		for i, want := range []int{1, 0, 0, 0, 1} {
			if hs[i].renewals() != want {
				t.Fatalf("lease %d renewed %d times, want %d", i, hs[i].renewals(), want)
			}
		}
		after(5 * time.Second)
		for i := range hs {
			if i != 1 {
				hs[i].mustBeHeld(t)
				if hs[i].renewals() != 1 {
					t.Fatalf("lease %d renewed %d times, want once", i, hs[i].renewals())
				}
			}
		}
		if s := w.Stats(); s.Failures != 2 || s.Losses != 1 || s.Renewals != 4 {
			t.Fatalf("stats %+v", s)
		}
		closeNow(t, w)
	})
}

// An answer belongs to the registration that asked, also when the same Watch
// was added again in between.
func TestFault46AnswerForEarlierRegistrationIsIgnored(t *testing.T) {
	for _, outcome := range []watchdog.Outcome{watchdog.Renewed, watchdog.NotOwner, watchdog.Failed} {
		for _, late := range []time.Duration{time.Second, 8 * time.Second} { // in time, and given up
			t.Run(outcome.String()+late.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := &redis{answer: func(n int, _ context.Context, ts []watchdog.Target) []watchdog.Result {
						if n > 0 {
							return all(watchdog.Renewed, ts)
						}
						time.Sleep(late)
						return all(outcome, ts)
					}}
					w := r.start(watchdog.Config{})
					h := &holder{}
					w.Add(&h.Watch, target(1), h, renewable())
					after(10*time.Second + time.Millisecond)
					if r.calls() != 1 || !w.Remove(&h.Watch) {
						t.Fatal("want one call in flight")
					}
					short := watchdog.Schedule{ValidUntil: time.Now().Add(25 * time.Second), Renew: true}
					w.Add(&h.Watch, target(1), h, short)
					after(late)
					h.mustBeHeld(t)
					if h.renewals() != 0 || !w.ValidUntil(&h.Watch).Equal(short.ValidUntil) {
						t.Fatal("an answer for the old registration reached the new one")
					}
					after(time.Minute)
					h.mustBeHeld(t)
					if s := w.Stats(); s.Failures != 0 {
						t.Fatalf("stats %+v", s)
					}
					closeNow(t, w)
				})
			})
		}
	}
}

func TestFault46RemoveDuringRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &redis{answer: func(_ int, _ context.Context, ts []watchdog.Target) []watchdog.Result {
			time.Sleep(time.Second)
			return all(watchdog.NotOwner, ts)
		}}
		w := r.start(watchdog.Config{})
		h := &holder{}
		w.Add(&h.Watch, target(1), h, renewable())
		after(10*time.Second + time.Millisecond)
		if !w.Remove(&h.Watch) {
			t.Fatal("Remove said false")
		}
		after(time.Hour)
		h.mustBeHeld(t)
		if r.calls() != 1 || w.Len() != 0 {
			t.Fatalf("%d calls, %d watched", r.calls(), w.Len())
		}
		closeNow(t, w)
	})
}

func TestFixedLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &redis{}
		w := r.start(watchdog.Config{})
		for _, d := range []time.Duration{time.Millisecond, 5 * time.Second, 10 * time.Minute} {
			h := &holder{}
			s := fixed(d)
			at := s.ValidUntil
			if now := time.Now(); at.Before(now) {
				at = now // over before it began
			}
			w.Add(&h.Watch, target(1), h, s)
			after(d)
			h.mustBeLost(t, at, watchdog.CauseExpired)
		}
		if r.calls() != 0 {
			t.Fatal("a fixed lease was renewed")
		}
		closeNow(t, w)
	})
}

func TestRenewUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &redis{}
		w := r.start(watchdog.Config{})
		start := time.Now()
		h := &holder{}
		s := renewable()
		s.RenewUntil = start.Add(40 * time.Second)
		w.Add(&h.Watch, target(1), h, s)
		after(5 * time.Minute)
		if r.calls() != 3 { // at 10, 20 and 30 s, not at 40
			t.Fatalf("%d renewals, want 3", r.calls())
		}
		h.mustBeLost(t, start.Add(30*time.Second+validity), watchdog.CauseExpired)

		// A limit that is lifted after renewal stopped.
		h = &holder{}
		s = renewable()
		s.RenewUntil = time.Now().Add(time.Second)
		w.Add(&h.Watch, target(1), h, s)
		after(20 * time.Second)
		s.RenewUntil = time.Time{}
		if !w.Update(&h.Watch, s) {
			t.Fatal("Update said false")
		}
		after(time.Minute)
		h.mustBeHeld(t)
		closeNow(t, w)
	})
}

func TestUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &redis{}
		w := r.start(watchdog.Config{})
		start := time.Now()
		h := &holder{}
		s := fixed(lease)
		w.Add(&h.Watch, target(1), h, s)

		// A re-entry that is renewed, late in a fixed lease: due halfway to the end.
		after(25 * time.Second)
		if !w.Update(&h.Watch, watchdog.Schedule{Renew: true}) {
			t.Fatal("Update said false")
		}
		if got := w.ValidUntil(&h.Watch); !got.Equal(s.ValidUntil) {
			t.Fatal("ValidUntil moved backwards")
		}
		after(4 * time.Second)
		half := (validity - 25*time.Second) / 2
		if got := r.asked[0].Sub(start) - 25*time.Second; got > half || got < half-lease/30 {
			t.Fatalf("renewed after %v, want about %v", got, half)
		}

		// Its end: the outer hold's fixed lease goes on, as long as it was renewed to.
		if !w.Update(&h.Watch, watchdog.Schedule{}) {
			t.Fatal("Update said false")
		}
		end := w.ValidUntil(&h.Watch)
		after(time.Minute)
		if r.calls() != 1 {
			t.Fatalf("%d renewals, want 1", r.calls())
		}
		h.mustBeLost(t, end, watchdog.CauseExpired)

		// A confirmed re-entry moves the end and so the next renewal.
		h = &holder{}
		w.Add(&h.Watch, target(1), h, renewable())
		after(5 * time.Second)
		again := time.Now()
		w.Update(&h.Watch, renewable())
		after(9 * time.Second)
		if r.calls() != 1 {
			t.Fatal("renewed though re-entry just had")
		}
		after(time.Second)
		if r.calls() != 2 || !h.renewed[0].After(again.Add(validity)) {
			t.Fatal("not renewed a third after re-entry")
		}
		closeNow(t, w)
	})
}

func TestUpdateDuringRenewal(t *testing.T) {
	for _, renew := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			r := &redis{answer: slow(2 * time.Second)}
			w := r.start(watchdog.Config{})
			h := &holder{}
			w.Add(&h.Watch, target(1), h, renewable())
			after(11 * time.Second)
			s := renewable()
			s.Renew = renew
			w.Update(&h.Watch, s) // later than what the call in flight will confirm
			after(2 * time.Second)
			if got := w.ValidUntil(&h.Watch); !got.Equal(s.ValidUntil) {
				t.Fatalf("ValidUntil moved back by %v", s.ValidUntil.Sub(got))
			}
			after(time.Minute)
			if renew {
				h.mustBeHeld(t)
			} else {
				h.mustBeLost(t, s.ValidUntil, watchdog.CauseExpired)
			}
			closeNow(t, w)
		})
	}
}

func TestUpdateDoesNotRenewTwiceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &redis{answer: slow(3500 * time.Millisecond)}
		w := r.start(watchdog.Config{})
		h := &holder{}
		w.Add(&h.Watch, target(1), h, watchdog.Schedule{ValidUntil: time.Now().Add(8 * time.Second), Renew: true})
		after(4*time.Second + 100*time.Millisecond)
		w.Update(&h.Watch, watchdog.Schedule{Renew: true})
		after(8 * time.Second)
		h.mustBeHeld(t)
		if r.calls() != 1 {
			t.Fatalf("%d calls, want 1", r.calls())
		}
		closeNow(t, w)
	})
}

// A renewal that is no longer wanted is not tried again, failed or given up.
func TestUpdateDuringFailingRenewal(t *testing.T) {
	for _, d := range []time.Duration{2 * time.Second, 8 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			r := &redis{answer: func(_ int, _ context.Context, ts []watchdog.Target) []watchdog.Result {
				time.Sleep(d)
				return all(watchdog.Failed, ts)
			}}
			w := r.start(watchdog.Config{})
			h := &holder{}
			s := renewable()
			w.Add(&h.Watch, target(1), h, s)
			after(11 * time.Second)
			w.Update(&h.Watch, watchdog.Schedule{})
			after(time.Minute)
			if r.calls() != 1 {
				t.Fatalf("%d calls, want 1", r.calls())
			}
			h.mustBeLost(t, s.ValidUntil, watchdog.CauseExpired)
			closeNow(t, w)
		})
	}
}

func TestShortValidityIsRenewedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &redis{}
		w := r.start(watchdog.Config{})
		time.Sleep(777 * time.Millisecond) // off the grid
		for _, d := range []time.Duration{20 * time.Millisecond, time.Second, 7 * time.Second} {
			h := &holder{}
			w.Add(&h.Watch, target(1), h, watchdog.Schedule{ValidUntil: time.Now().Add(d), Renew: true})
			after(time.Minute)
			h.mustBeHeld(t)
			w.Remove(&h.Watch)
		}
		closeNow(t, w)
	})
}

// Redisson's renewal ended for good at the first exception (#6483).
func TestFault62RenewFuncThatMisbehaves(t *testing.T) {
	for name, bug := range map[string]func(ts []watchdog.Target) []watchdog.Result{
		"panics":       func([]watchdog.Target) []watchdog.Result { panic("out of cheese") },
		"exits":        func([]watchdog.Target) []watchdog.Result { runtime.Goexit(); return nil },
		"answers less": func(ts []watchdog.Target) []watchdog.Result { return all(watchdog.Renewed, ts)[1:] },
		"nothing":      func([]watchdog.Target) []watchdog.Result { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &redis{answer: func(n int, _ context.Context, ts []watchdog.Target) []watchdog.Result {
					if n%3 == 0 {
						return bug(ts)
					}
					return append(all(watchdog.Renewed, ts), watchdog.Result{Outcome: watchdog.NotOwner}) // one too many
				}}
				w := r.start(watchdog.Config{})
				var hs [3]holder
				for i := range hs {
					w.Add(&hs[i].Watch, target(i), &hs[i], renewable())
				}
				after(10 * time.Minute)
				for i := range hs {
					hs[i].mustBeHeld(t)
				}
				if len(r.failures) == 0 || w.Stats().Failures == 0 {
					t.Fatal("not reported")
				}
				if name == "panics" && !strings.Contains(r.failures[0].Error(), "out of cheese") {
					t.Fatalf("reported as %v", r.failures[0])
				}
				closeNow(t, w)
			})
		})
	}
}

// goroutines counts the goroutines that a watchdog has started. It is not the difference of two
// counts of all: other goroutines of the test process come and go.
func goroutines() int {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return bytes.Count(stacks, []byte("\ncreated by github.com/redlatch/redlatch/watchdog.(*Watchdog)."))
}

func TestFault49ManyWatchesOneGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, batch, periods = 10_000, 300, 5
		r := &redis{}
		w := r.start(watchdog.Config{Batch: batch})
		hs := make([]holder, n)
		for i := range hs {
			w.Add(&hs[i].Watch, target(i), &hs[i], renewable())
			if i%100 == 0 {
				time.Sleep(9 * time.Millisecond) // taken over most of a second
			}
		}
		synctest.Wait()
		if got := goroutines(); got != 1 {
			t.Fatalf("%d goroutines, want 1", got)
		}
		after(periods*lease/3 + time.Second)
		if got, want := r.calls(), periods*((n+batch-1)/batch); got != want {
			t.Fatalf("%d calls in %d periods, want %d", got, periods, want)
		}
		if r.most != 1 {
			t.Fatalf("%d calls at a time, want 1", r.most)
		}
		if got := goroutines(); got != 1 {
			t.Fatalf("%d goroutines, want 1", got)
		}
		for i := range hs {
			hs[i].mustBeHeld(t)
		}
		closeNow(t, w)
	})
}

// One helper would need 40 s for a period of 10 s.
func TestSlowRedisGetsMoreHelpers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &redis{answer: func(_ int, _ context.Context, ts []watchdog.Target) []watchdog.Result {
			time.Sleep(200 * time.Millisecond)
			return all(watchdog.Renewed, ts)
		}}
		w := r.start(watchdog.Config{Batch: 10})
		hs := make([]holder, 1500)
		for i := range hs {
			w.Add(&hs[i].Watch, target(i), &hs[i], renewable())
		}
		after(10 * time.Minute)
		for i := range hs {
			hs[i].mustBeHeld(t)
		}
		if r.most != watchdog.MaxHelpers {
			t.Fatalf("%d calls at a time, want 4", r.most)
		}
		closeNow(t, w)
	})
}

// Calls that hang for ever, as many as may be under way, do not keep a lease that is taken later
// from being renewed; and while 32 hang, no more are sent.
func TestFault64HungCallsGiveTheirPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		var silent atomic.Bool
		silent.Store(true)
		r := &redis{answer: func(_ int, _ context.Context, ts []watchdog.Target) []watchdog.Result {
			if silent.Load() {
				<-hang
			}
			return all(watchdog.Renewed, ts)
		}}
		w := r.start(watchdog.Config{})
		early := &holder{}
		w.Add(&early.Watch, target(1), early, renewable())
		after(lease)
		silent.Store(false)
		late := &holder{}
		w.Add(&late.Watch, target(2), late, renewable())
		after(time.Hour)
		late.mustBeHeld(t)
		if n := late.renewals(); n < 300 {
			t.Errorf("renewed %d times in an hour", n)
		}
		w.Remove(&late.Watch)
		silent.Store(true)
		for i := range 20 { // 4 calls hang for each
			h, s := &holder{}, renewable()
			w.Add(&h.Watch, target(10+i), h, s)
			after(lease)
			h.mustBeLost(t, s.ValidUntil, watchdog.CauseExpired)
		}
		if most := watchdog.MaxHelpers + watchdog.MaxOverdue; r.most > most {
			t.Errorf("%d calls at a time, want at most %d", r.most, most)
		}
		close(hang)
		closeNow(t, w)
	})
}

// One batch hangs; the others are renewed and lose nothing.
func TestOneHangingCallDelaysNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		r := &redis{answer: func(n int, _ context.Context, ts []watchdog.Target) []watchdog.Result {
			if n == 2 {
				<-hang
			}
			return all(watchdog.Renewed, ts)
		}}
		w := r.start(watchdog.Config{Batch: 10})
		hs := make([]holder, 100)
		for i := range hs {
			w.Add(&hs[i].Watch, target(i), &hs[i], renewable())
		}
		after(time.Hour)
		for i := range hs {
			hs[i].mustBeHeld(t)
		}
		close(hang)
		after(time.Minute)
		if s := w.Stats(); s.Failures != 10 || s.Losses != 0 {
			t.Fatalf("stats %+v", s)
		}
		closeNow(t, w)
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		var ctxErr error
		r := &redis{answer: func(_ int, ctx context.Context, ts []watchdog.Target) []watchdog.Result {
			<-ctx.Done()
			ctxErr = context.Cause(ctx)
			<-hang
			return all(watchdog.NotOwner, ts)
		}}
		w := r.start(watchdog.Config{})
		h := &holder{}
		w.Add(&h.Watch, target(1), h, renewable())
		after(11 * time.Second)

		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if err := w.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Close with a call that hangs: %v", err)
		}
		if got := time.Since(begin); got != 3*time.Second {
			t.Fatalf("Close took %v", got)
		}
		after(time.Hour)
		h.mustBeHeld(t) // nothing is reported after Close
		if !errors.Is(ctxErr, context.Canceled) {
			t.Fatalf("the call's ctx ended with %v", ctxErr)
		}

		close(hang)
		closeNow(t, w)
		if err := w.Close(ctx); err != nil { // all is over, and that comes first
			t.Fatal(err)
		}
		w.Add(&h.Watch, target(1), h, renewable())
		after(time.Hour)
		h.mustBeHeld(t)
		if r.calls() != 1 || !w.Remove(&h.Watch) {
			t.Fatal("want a registration without effect")
		}
	})
}

func TestCloseBeforeFirstAdd(t *testing.T) {
	w := (&redis{}).start(watchdog.Config{})
	closeNow(t, w)
	closeNow(t, w)
}

// reentrant calls the watchdog from inside the handler.
type reentrant struct {
	holder
	w *watchdog.Watchdog
}

func (h *reentrant) Lost(c watchdog.Cause) {
	h.holder.Lost(c)
	if h.w.Remove(&h.Watch) {
		panic("Remove said true during Lost")
	}
	if len(h.lost) < 3 {
		h.w.Add(&h.Watch, target(1), h, fixed(lease))
	}
}

func TestHandlerMayCallTheWatchdog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := (&redis{}).start(watchdog.Config{})
		h := &reentrant{w: w}
		w.Add(&h.Watch, target(1), h, fixed(lease))
		after(time.Hour)
		if len(h.lost) != 3 {
			t.Fatalf("lost %d times, want once for each of 3 registrations", len(h.lost))
		}
		closeNow(t, w)
	})
}

func TestAddAgainReplaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := (&redis{}).start(watchdog.Config{})
		h, g := &holder{}, &holder{}
		w.Add(&h.Watch, target(1), h, fixed(time.Second))
		s := fixed(time.Minute)
		w.Add(&h.Watch, target(1), g, s)
		after(time.Hour)
		h.mustBeHeld(t)
		g.mustBeLost(t, s.ValidUntil, watchdog.CauseExpired)
		closeNow(t, w)
	})
}

func TestNewPanics(t *testing.T) {
	for _, cfg := range []watchdog.Config{{Lease: time.Second}, {Renew: (&redis{}).renew}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("New(%+v) did not panic", cfg)
				}
			}()
			watchdog.New(cfg)
		}()
	}
}

func TestWatchIsSmall(t *testing.T) {
	size := unsafe.Sizeof(watchdog.Watch{})
	t.Logf("a Watch has %d bytes, and 32 more in the queues", size)
	if size > 160 {
		t.Fail()
	}
}
