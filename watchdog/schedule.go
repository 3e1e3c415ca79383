package watchdog

import (
	"math"
	"math/rand/v2"
	"time"
)

// instant is a time as nanoseconds after Watchdog.base, by the monotonic clock:
// eight bytes to order by, where a time.Time has twenty-four.
type instant int64

const (
	awake instant = math.MinInt64 // as sleepTill: no need to wake the goroutine
	never instant = math.MaxInt64

	longAgo instant = 0 // when the watchdog was made: everything due then is due now
)

func (w *Watchdog) at(t time.Time) instant { return instant(t.Sub(w.base)) }

func (w *Watchdog) timeLeft(t, now time.Time) time.Duration { return left(t, now, w.wall(now)) }

func (w *Watchdog) passed(t, now time.Time) bool { return w.timeLeft(t, now) <= 0 }

const (
	// maxHelpers bounds the calls of RenewFunc that are under way at a time, without the calls that
	// were given up.
	maxHelpers = 4

	// maxOverdue bounds the calls that were given up and have not returned. A RenewFunc that returns
	// within a lease never comes so far: four calls are given up in a sixth of the lease.
	maxOverdue = 8 * maxHelpers

	// maxGrowth is how many batches one call may have when renewals are late, if
	// Config does not say otherwise.
	maxGrowth = 8

	// clockCheck is how often the clocks are compared while anything is watched. After a suspension
	// timers go on where they stood: without the check a loss would be found only at the next event.
	clockCheck = time.Second

	// clockStep is how far the clocks may move apart before every watch is
	// looked at: less than the 2 ms that Drift leaves.
	clockStep = time.Millisecond
)

// times are the intervals that follow from the lease.
type times struct {
	// period is the age at which a lease is renewed: a third of it, so that two thirds are left for
	// trying again.
	period instant

	// limit is how long a call may take before its targets are tried again beside it: maxHelpers
	// tries of a sixth fill the two thirds. It is at least 50 ms, which a busy network or garbage
	// collector may cost.
	limit time.Duration

	// grid aligns renewals: leases that were taken at slightly different instants are renewed in one
	// batch, and stay together.
	grid instant

	// retry is the middle of the delay after a failure.
	retry time.Duration
}

func timesFor(lease time.Duration) times {
	return times{
		period: instant(lease / 3),
		limit:  max(lease/6, 50*time.Millisecond),
		grid:   max(instant(lease/30), 1),
		retry:  lease / 12,
	}
}

// tooLate is the time before the end of a lease within which a renewal counts as too late: one and a
// half times what a call takes at present, since not all take the same time. An error costs little,
// as tooLate only decides what comes first. It is a third of the lease at the most: a renewal in time
// is never too late.
func (w *Watchdog) tooLate() instant {
	return min(instant(w.pace.trip()*3/2), w.times.period)
}

// overdueAt is when x is planned if it is to be tried again at once: at the instant at which its
// renewal would have been due. So in a backlog it does not wait behind leases that end later.
func (w *Watchdog) overdueAt(x *Watch, t time.Time) instant {
	return min(w.at(t), w.endOf(x, t)-2*w.times.period)
}

// minRetry keeps tries apart when a lease is short or nearly over.
const minRetry = 10 * time.Millisecond

// retryDelay is one twelfth of the lease give or take a fifth, so that clients that failed together
// do not come back together. It is drawn once for a batch: otherwise the batch would fall apart.
func (w *Watchdog) retryDelay() time.Duration {
	d := w.times.retry
	return d - d/5 + rand.N(max(d*2/5, 1))
}

// retryAt is when to try x again after a renewal that failed: after delay, but sooner as the end
// comes near. So Redis may come back as late as a few hundredths of a second before the end.
func (w *Watchdog) retryAt(x *Watch, t time.Time, delay time.Duration) instant {
	now := w.at(t)
	left := w.endOf(x, t) - now
	return now + max(min(instant(delay), left/2), instant(minRetry))
}

// renewalAt is when to renew x. A command sent at sent has confirmed its lease; the renewal follows a
// third of the lease later, or halfway to its end if that is sooner, rounded down to the grid.
//
// Rounding down has the effect of taking along everything that is due soon, while the queue stays in
// the order in which things happen.
func (w *Watchdog) renewalAt(x *Watch, sent instant, t time.Time) instant {
	now, end := w.at(t), w.endOf(x, t)
	if end <= now {
		return now
	}
	at := min(sent+w.times.period, now+(end-now)/2)
	if aligned := at - at%w.times.grid; aligned > now {
		return aligned
	}
	return at
}

// wakeFor wakes the watchdog's goroutine if x is due before it means to look.
// The mutex must be held.
func (w *Watchdog) wakeFor(x *Watch) {
	at := w.expiries.s[x.pos[byExpiry]-1].at
	w.wakeBefore(min(at, w.renewing.of(x)))
}

func (w *Watchdog) wakeBefore(at instant) {
	if at < w.sleepTill {
		w.signal()
	}
}

func (w *Watchdog) signal() {
	select {
	case w.wake <- struct{}{}:
	default: // a signal is there already, and the goroutine looks at everything
	}
}
