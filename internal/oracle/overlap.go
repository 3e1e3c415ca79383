package oracle

import (
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/history"
)

// Overlap finds times in which two owners could both believe that a lock was theirs:
// from the return of the call that took it to the first of the call that releases it, the
// news of its loss and the end of its validity. A nanosecond is enough.
// Readers of a read-write lock may have it together.
func Overlap(h history.History) (found []Violation) {
	inOrder(holds(h.Ops), func(lock string, list []*hold) {
		longest := longestLease(list)
		var active []*hold // those that may reach beyond the present one's beginning
		for _, b := range list {
			if !b.trusted() {
				continue
			}
			active = slices.DeleteFunc(active, func(a *hold) bool { return a.until <= b.from })
			for _, a := range active {
				if a.conflicts(b) && !forgotten(h.Faults, a, b.from, longest) && !forgotten(h.Faults, b, a.from, longest) {
					found = append(found, violated("overlap", lock, "%v and %v believed at the same time that it was theirs, for %v",
						a, b, min(a.until, b.until).Sub(b.from)))
				}
			}
			active = append(active, b)
		}
	})
	return found
}

// conflicts reports whether two holds of one lock exclude each other.
func (h *hold) conflicts(other *hold) bool {
	return h.owner != other.owner && (h.side != history.Reading || other.side != history.Reading)
}

func longestLease(list []*hold) (longest time.Duration) {
	for _, h := range list {
		longest = max(longest, h.lease)
	}
	return longest
}

// forgotten reports whether x may be a hold that Redis forgot before another was granted,
// and whose owner need not have been told yet.
func forgotten(faults []history.Fault, x *hold, other history.Instant, longest time.Duration) bool {
	return slices.ContainsFunc(faults, func(f history.Fault) bool {
		return forgets(f, x.lock) && other >= f.Start && (x.call <= f.End || inherited(f, x, longest)) &&
			x.until <= told(faults, f, x, longest)
	})
}

// told is when x's owner knows at the latest that Redis has forgotten it: at the next
// renewal, a third of the lease later, or, where there is none or another fault may have
// prevented it, when its validity ends. That is at most one lease later, since no renewal
// can have been confirmed; of the longest lease, since nested holds may have asked for that.
func told(faults []history.Fault, f history.Fault, x *hold, longest time.Duration) history.Instant {
	if f.End == history.Never {
		return history.Never
	}
	next := f.End.Add(x.lease/3 + renewalSlack)
	disturbed := slices.ContainsFunc(faults, func(g history.Fault) bool {
		return g.ID != f.ID && (g.Client == history.Everyone || g.Client == x.client) &&
			g.End > f.End.Add(lossSlack) && g.Start <= next
	})
	if x.fixed || disturbed {
		return f.End.Add(longest)
	}
	return next
}

// renewalSlack is for a renewal to go out, to be answered and to be acted on.
const renewalSlack = 100 * time.Millisecond

// inherited reports whether x may have been granted by a write-behind hand-off on a lease
// that Redis has forgotten: its Client has not asked Redis.
func inherited(f history.Fault, x *hold, longest time.Duration) bool {
	return x.behind && x.from >= f.Start && (f.End == history.Never || x.until <= f.End.Add(longest))
}

func forgets(f history.Fault, lock string) bool {
	return f.Forgets && (f.Lock == "" || f.Lock == lock)
}
