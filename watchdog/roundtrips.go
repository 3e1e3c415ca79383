package watchdog

import (
	"slices"
	"time"
)

// roundTrips is what the calls of late say about the next: how many targets it may have, and how
// soon its answer can be expected. The watchdog's mutex guards it.
//
// Places are few, as each takes a connection, so what grows with the backlog is the batch: by
// one for each half grid that the first renewal is late, up to Config.Growth batches in a call. In
// equilibrium renewals are as late as makes the batches large enough, at most an eighth of the
// lease. A call that grew and was not back in time halves what the next may have, since a way that
// is too narrow for it is not made wider by larger ones; each one that is back in time
// gives one batch back.
type roundTrips struct {
	trips  [8]time.Duration // how long the last calls took that Redis has answered, in a ring
	n      int              // how many there have been
	growth int              // how many batches a call may have at present, 1 to most
	most   int              // and at any time
}

// returned takes note of a call that has returned.
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

// trip is how long a call takes at present: the median of the last ones. The calls that
// were under way while Redis stood still, at most as many as there are places, do not move it; the
// shortest would do harm when answers are uneven, as it has calls begin that mostly come too late.
// It is 0 while nothing is known.
func (p *roundTrips) trip() time.Duration {
	n := min(p.n, len(p.trips))
	if n == 0 {
		return 0
	}
	sorted := p.trips
	slices.Sort(sorted[:n])
	return sorted[(n-1)/2]
}

// batches is how many batches a call may have whose first renewal is that late, when so many
// watches wait aside.
func (p *roundTrips) batches(late, grid instant, aside, batch int) int {
	wanted := 1 + max(int(2*late/grid), (aside-1)/batch)
	return min(wanted, p.growth)
}
