package oracle

import (
	"time"

	"github.com/redlatch/redlatch/internal/history"
)

const (
	// lossSlack is how far a loss may be from the fault that explains it, beyond the
	// lease: the news has to come round.
	lossSlack = 20 * time.Millisecond

	// undialed is for how long a client that was refused connections may go on without one
	// if those that it had are cut.
	undialed = time.Second
)

// Losses finds holds that were lost for no reason: not at the end of a fixed lease, with
// no fault in their last lease that may outlast renewals, and Redis had not forgotten
// them.
func Losses(h history.History) (found []Violation) {
	inOrder(holds(h.Ops), func(lock string, list []*hold) {
		longest := longestLease(list)
		for _, x := range list {
			if at, lost := x.lossSeen(); lost && !explained(h.Faults, x, at, longest) {
				found = append(found, violated("losses", lock, "%v was lost by %v and no fault explains it", x, at))
			}
		}
	})
	return found
}

// lossSeen is when the owner knew of the loss at the latest.
func (h *hold) lossSeen() (at history.Instant, lost bool) {
	if h.lost != history.Never {
		return h.lost, true
	}
	if h.released != nil && h.released.Outcome == history.Gone {
		return h.released.Return, true
	}
	return 0, false
}

func explained(faults []history.Fault, h *hold, at history.Instant, longest time.Duration) bool {
	if h.fixed && (h.valid == 0 || at >= h.valid) {
		return true // its lease was over
	}
	// Renewals have failed from when the last one was confirmed, a lease before the end of
	// validity, or Redis has forgotten the lock since.
	end := h.from
	if h.valid != 0 {
		end = min(at, h.valid)
	}
	from, until := end.Add(-longest-lossSlack), at.Add(lossSlack)
	cut, refused := false, false
	for _, f := range faults {
		if f.Client != history.Everyone && f.Client != h.client {
			continue
		}
		refused = refused || f.Refused && f.Touches(from.Add(-undialed), until)
		if f.Touches(from, until) {
			if f.Outlasts || forgets(f, h.lock) {
				return true
			}
			cut = true
		}
	}
	return cut && refused
}
