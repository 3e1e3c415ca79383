package watchdog

import (
	"slices"
	"time"
)

// roundTrips tells from the last calls how many targets the next one may have, and how soon to expect
// its answer. The watchdog's mutex guards it.
//
// Each call takes a connection, so there are few calls. When the backlog grows, the batches of a call
// grow instead: by one for each half grid that the first renewal is late, up to Config.Growth. This
// settles where renewals are late enough for batches that keep up: at most an eighth of the lease. A
// call that grew and was not back in time halves the number for the next call, since larger calls do
// not widen a network that is too narrow. Each call that is back in time gives one batch back.
type roundTrips struct {
	trips  [8]time.Duration // durations of the last calls that Redis has answered, in a ring
	n      int              // how many such calls there have been
	growth int              // how many batches a call may have at present, 1 to most
	most   int              // the upper bound of growth
}

// returned notes a call that has returned.
func (p *roundTrips) returned(took, limit time.Duration, grown, answered bool) {
	if answered {
		p.trips[p.n%len(p.trips)] = took
		p.n++
	}
	switch {
	case took < limit && answered:
		p.growth = min(p.growth+1, p.most)
	case took >= limit && grown:
		p.growth = max(p.growth/2, 1)
	}
}

// trip is how long a call takes at present: the median of the last ones. While Redis stood still, at
// most as many calls were under way as there are places, and these do not move the median. The
// shortest one would do harm when answers are uneven: calls would begin whose answers mostly come too
// late. trip is 0 while nothing is known.
func (p *roundTrips) trip() time.Duration {
	n := min(p.n, len(p.trips))
	if n == 0 {
		return 0
	}
	sorted := p.trips
	slices.Sort(sorted[:n])
	return sorted[(n-1)/2]
}

// batches is how many batches a call may have. late is how late its first renewal is, aside how many
// watches are put aside.
func (p *roundTrips) batches(late, grid instant, aside, batch int) int {
	wanted := 1 + max(int(2*late/grid), (aside-1)/batch)
	return min(wanted, p.growth)
}
