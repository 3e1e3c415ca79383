package watchdog_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/watchdog"
)

// crowd is many leases of one length, taken within a moment or spread over a period.
type crowd struct {
	lease time.Duration
	held  []tally
	lost  atomic.Int64
	late  atomic.Int64 // losses that were told at another time than the end of the lease
	wrong atomic.Int64 // with another cause
}

// tally is one of them.
type tally struct {
	watchdog.Watch
	of    *crowd
	until time.Time
}

func (x *tally) Renewed(validUntil time.Time) { x.until = validUntil }

func (x *tally) Lost(cause watchdog.Cause) {
	x.of.lost.Add(1)
	if cause != watchdog.CauseExpired {
		x.of.wrong.Add(1)
	}
	if !time.Now().Equal(x.until) {
		x.of.late.Add(1)
	}
}

// join takes n leases, evenly over so long.
func (c *crowd) join(w *watchdog.Watchdog, n int, over time.Duration) {
	c.held = make([]tally, n)
	const steps = 100
	for i := range c.held {
		x := &c.held[i]
		x.of, x.until = c, watchdog.Validity(time.Now(), c.lease)
		w.Add(&x.Watch, watchdog.Target{Key: "lock", Owner: "owner"}, x, watchdog.Schedule{ValidUntil: x.until, Renew: true})
		if over > 0 && i%(n/steps) == 0 {
			time.Sleep(over / steps)
		}
	}
}

func (c *crowd) mustLoseAtTheEnd(t *testing.T) {
	t.Helper()
	if c.late.Load() > 0 || c.wrong.Load() > 0 {
		t.Errorf("%d losses told away from the end of the lease, %d with another cause", c.late.Load(), c.wrong.Load())
	}
}

// What one Client can keep: the locks of each row are renewed through several leases, and none
// is lost.
func TestFault67MoreLocksThanFourSmallCallsRenew(t *testing.T) {
	for _, test := range []struct {
		name         string
		locks        int
		lease, round time.Duration
		batch        int           // 0 is the default
		over         time.Duration // taken within
		stall        time.Duration // once in a lease Redis answers nothing for so long
	}{
		{name: "20,000 of 3 s at 400 ms", locks: 20_000, lease: 3 * time.Second, round: 400 * time.Millisecond},
		{name: "20,000 of 3 s at 400 ms, spread", locks: 20_000, lease: 3 * time.Second, round: 400 * time.Millisecond, over: time.Second},
		// A tenth of 300,000, in batches of a tenth.
		{name: "300,000 of 30 s at 200 ms", locks: 30_000, batch: 50, lease: lease, round: 200 * time.Millisecond},
		{name: "300,000 of 30 s at 200 ms, spread", locks: 30_000, batch: 50, lease: lease, round: 200 * time.Millisecond, over: 10 * time.Second},
		{name: "300,000 of 30 s at 200 ms with stalls of 3 s", locks: 30_000, batch: 50, lease: lease, round: 200 * time.Millisecond, stall: 3 * time.Second},
		{name: "100,000 of 30 s at 200 ms with stalls of 3 s", locks: 10_000, batch: 50, lease: lease, round: 200 * time.Millisecond, stall: 3 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				r := &redis{answer: func(_ int, _ context.Context, ts []watchdog.Target) []watchdog.Result {
					time.Sleep(test.round)
					if past := time.Since(began) % test.lease; past < test.stall {
						time.Sleep(test.stall - past)
					}
					return all(watchdog.Renewed, ts)
				}}
				w := r.start(watchdog.Config{Lease: test.lease, Batch: test.batch})
				c := &crowd{lease: test.lease}
				c.join(w, test.locks, test.over)
				after(5 * test.lease / 2)
				closeNow(t, w)
				t.Logf("%d calls, of up to %d locks", r.calls(), r.largest())
				if n := c.lost.Load(); n > 0 {
					t.Errorf("%d of %d lost", n, test.locks)
				}
			})
		})
	}
}

// Beyond that the surplus is lost, and little more: the calls that there are go to leases that
// their answers can still reach.
func TestFault67BeyondCapacityOnlyTheSurplusIsLost(t *testing.T) {
	const lease, round, batch = 3 * time.Second, 400 * time.Millisecond, 10
	const most = 8 * batch * watchdog.MaxHelpers // in one round trip
	limit := float64(most) * float64(lease-round) / float64(round)
	for _, test := range []struct {
		name   string
		load   float64 // of the limit
		jitter time.Duration
		keep   float64 // of the limit, at least
	}{
		{name: "a third over", load: 4. / 3, keep: 0.75},
		{name: "three times", load: 3, keep: 0.75},
		{name: "twice, the answers uneven", load: 2, jitter: 90 * time.Millisecond, keep: 0.65},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &redis{answer: func(_ int, _ context.Context, ts []watchdog.Target) []watchdog.Result {
					time.Sleep(round)
					if test.jitter > 0 {
						time.Sleep(rand.N(2*test.jitter) - test.jitter)
					}
					return all(watchdog.Renewed, ts)
				}}
				w := r.start(watchdog.Config{Lease: lease, Batch: batch})
				c := &crowd{lease: lease}
				n := int(test.load * limit)
				c.join(w, n, lease/3)
				for i := range 10 {
					after(lease)
					t.Logf("after %d leases %d of %d are lost, the limit is %.0f", i+1, c.lost.Load(), n, limit)
				}
				kept := w.Len()
				closeNow(t, w)
				c.mustLoseAtTheEnd(t)
				if float64(kept) < test.keep*limit {
					t.Errorf("%d of %d kept, and %.0f can be", kept, n, limit)
				}
			})
		})
	}
}

// A lease that an answer would reach too late by the measured round trip is not given up: Redis gets
// quick again before the first of them ends, and none is lost.
func TestFault67QuickAgainBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lease, round, batch = 3 * time.Second, 400 * time.Millisecond, 10
		var quick atomic.Bool
		r := &redis{answer: func(_ int, _ context.Context, ts []watchdog.Target) []watchdog.Result {
			if quick.Load() {
				time.Sleep(time.Millisecond)
			} else {
				time.Sleep(round)
			}
			return all(watchdog.Renewed, ts)
		}}
		w := r.start(watchdog.Config{Lease: lease, Batch: batch, Growth: 1})
		c := &crowd{lease: lease}
		c.join(w, 5*batch*watchdog.MaxHelpers*int(lease/round), lease/3)
		after(lease * 17 / 30) // the first leases are about to end, and many have been put aside
		if c.lost.Load() > 0 || w.Aside() < 100 {
			t.Errorf("%d lost and %d put aside by now", c.lost.Load(), w.Aside())
		}
		quick.Store(true)
		after(3 * lease)
		if n := c.lost.Load(); n > 0 {
			t.Errorf("%d of %d lost", n, len(c.held))
		}
		closeNow(t, w)
	})
}

// Calls that hang take their own targets with them, and one place each. The other calls grow, and
// keep the remaining leases.
func TestFault67SomeCallsHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lease, round, batch = 30 * time.Second, time.Second, 50
		end := make(chan struct{})
		r := &redis{answer: func(n int, _ context.Context, ts []watchdog.Target) []watchdog.Result {
			if n == 5 || n == 50 || n == 100 {
				<-end
			}
			time.Sleep(round)
			return all(watchdog.Renewed, ts)
		}}
		w := r.start(watchdog.Config{Lease: lease, Batch: batch})
		c := &crowd{lease: lease}
		c.join(w, 4000, lease/3)
		after(5 * lease)
		t.Logf("%d calls, of up to %d", r.calls(), r.largest())
		if n := c.lost.Load(); n > 0 {
			t.Errorf("%d lost", n)
		}
		close(end)
		closeNow(t, w)
	})
}
