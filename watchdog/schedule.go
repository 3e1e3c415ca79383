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

	longAgo instant = 0 // when the watchdog was made, as when something was due
)

func (w *Watchdog) at(t time.Time) instant { return instant(t.Sub(w.base)) }

func (w *Watchdog) timeLeft(t, now time.Time) time.Duration { return left(t, now, w.wall(now)) }

func (w *Watchdog) passed(t, now time.Time) bool { return w.timeLeft(t, now) <= 0 }

const (
	// maxHelpers bounds the calls of RenewFunc that are under way at a time, those that were
	// given up excepted.
	maxHelpers = 4

	// maxOverdue bounds those. A RenewFunc that returns within a lease never comes so far: four
	// calls are given up in a sixth of the lease.
	maxOverdue = 8 * maxHelpers

	// maxGrowth is how many batches one call may have when renewals are late, if
	// Config does not say otherwise.
	maxGrowth = 8

	// clockCheck is how often the clocks are compared while anything is
	// watched. After a suspension timers go on where they stood, so that without it
	// a loss would be found only at the next event.
	clockCheck = time.Second

	// clockStep is how far the clocks may move apart before every watch is
	// looked at: less than the 2 ms that Drift leaves.
	clockStep = time.Millisecond
)

// times are the intervals that follow from the lease.
type times struct {
	// period is when a lease is renewed: after a third, so that two thirds are
	// left for trying again.
	period instant

	// limit is how long a call may take before its targets are tried again
	// beside it: maxHelpers tries of a sixth fill the two thirds. Not under
	// 50 ms, which a busy network or garbage collector may cost.
	limit time.Duration

	// grid is what renewals are aligned to, so that leases taken at slightly
	// different instants are renewed in one batch, and stay together.
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

// tooLate is how near the end of a lease a renewal is taken to be too late: half as much again as a
// call takes at present, since not all take the same time. It errs at little cost, as it only
// decides what comes first. A third of the lease is the most: what is renewed when it is due is
// never too late.
func (w *Watchdog) tooLate() instant {
	return min(instant(w.pace.trip()*3/2), w.times.period)
}

// overdueAt is for when the renewal of x that is to be tried again at once is planned: for when it
// would have been due, so that in a backlog it does not wait behind leases that end later.
func (w *Watchdog) overdueAt(x *Watch, t time.Time) instant {
	return min(w.at(t), w.endOf(x, t)-2*w.times.period)
}

// minRetry keeps tries apart when a lease is short or nearly over.
const minRetry = 10 * time.Millisecond

// retryDelay is one twelfth of the lease give or take a fifth, so that clients
// that failed together do not come back together. It is drawn once for a batch,
// which would fall apart otherwise.
func (w *Watchdog) retryDelay() time.Duration {
	d := w.times.retry
	return d - d/5 + rand.N(max(d*2/5, 1))
}

// retryAt is when a renewal of x that failed is tried again: after delay, but
// sooner as the end comes near, so that Redis may come back as late as a few
// hundredths of a second before it.
func (w *Watchdog) retryAt(x *Watch, t time.Time, delay time.Duration) instant {
	now := w.at(t)
	left := w.endOf(x, t) - now
	return now + max(min(instant(delay), left/2), instant(minRetry))
}

// renewalAt is when x is to be renewed whose lease was confirmed by a command
// sent at sent: a third of the lease later, or halfway to its end if that is
// sooner, rounded down to the grid.
//
// Rounding down gives what taking along "everything due soon" would, while the
// queue stays in the order in which things happen.
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
