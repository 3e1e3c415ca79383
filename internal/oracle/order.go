package oracle

import (
	"cmp"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/history"
)

const (
	// unsettled is for how long a waiter may still be out of the line after a fault of the server: its subscription has to
	// be back.
	unsettled = 250 * time.Millisecond

	// unsettledAlone is the same after a fault of the waiter's own client. Requests that were delayed arrive then, and
	// go-redis may not dial.
	unsettledAlone = undialed
)

// Order finds holds of fair locks that were granted before an earlier waiter was: whose call began when the waiter was seen
// in the line already ([history.Lined]).
//
// Nothing is asked for a waiter that got no hold, or whose client or server was disturbed while it waited: who does not
// hear that it is its turn is left out. Nothing is asked of holds that could not be trusted, either: when they were
// granted is not known.
func Order(h history.History) (found []Violation) {
	lined := make(map[string]map[string]history.Instant) // by lock and field
	for _, op := range h.Ops {
		if op.Kind != history.Lined {
			continue
		}
		if lined[op.Lock] == nil {
			lined[op.Lock] = make(map[string]history.Instant)
		}
		if _, known := lined[op.Lock][op.Field]; !known {
			lined[op.Lock][op.Field] = op.Return
		}
	}
	grants, asked := holds(h.Ops), unanswered(h.Ops)
	inOrder(lined, func(lock string, since map[string]history.Instant) {
		first := firstHolds(grants[lock])
		for _, x := range first {
			x.call = asked.began(x)
		}
		found = append(found, outOfOrder(h.Faults, lock, first, since)...)
	})
	return found
}

// calls are acquisitions that ended without an answer, by lock and owner.
type calls map[[2]string][]history.Op

func unanswered(ops []history.Op) calls {
	found := make(calls)
	for _, op := range ops {
		if op.Kind == history.Acquire && op.Outcome == history.Unknown {
			of := [2]string{op.Lock, op.Owner}
			found[of] = append(found[of], op)
		}
	}
	return found
}

// began is since when the owner of a hold has asked for it. A call that ended without an answer may have been granted the
// lock, for a lease at the most, and the owner's next call finds that grant: it has the place of the earlier one.
func (c calls) began(x *hold) (at history.Instant) {
	at = x.call
	for _, op := range slices.Backward(c[[2]string{x.lock, x.owner}]) { // they are in the order of their calls
		if op.Call < at && op.Return.Add(op.Lease) >= at {
			at = op.Call
		}
	}
	return at
}

// outOfOrder walks the holds in the order of their grants. The latest call among those before a hold decides: if even that
// call began before the waiter was in the line, all did.
func outOfOrder(faults []history.Fault, lock string, list []*hold, since map[string]history.Instant) (found []Violation) {
	var latest *hold
	for _, a := range list {
		at, known := since[a.field]
		known = known && a.field != ""
		if known && latest != nil && latest.call > at && !leftOut(faults, a, at) {
			found = append(found, violated("order", lock, "%v came before %v, which was in the line at %v, before that call began at %v",
				latest, a, at, latest.call))
		}
		if latest == nil || a.call > latest.call {
			latest = a
		}
	}
	return found
}

// firstHolds are the trusted holds of owners that had none, in the order of their grants. A nested call does not wait in
// the line, and nor does the call of an owner that Redis still knows as the holder.
func firstHolds(list []*hold) (first []*hold) {
	over := make(map[string]history.Instant)
	for _, x := range list {
		if x.trusted() && !x.nested && x.call > over[x.owner] {
			first = append(first, x)
		}
		over[x.owner] = max(over[x.owner], x.gone())
	}
	slices.SortStableFunc(first, func(a, b *hold) int { return cmp.Compare(a.from, b.from) })
	return first
}

// gone is when Redis does not know the hold any more. After a loss, or a release that was not confirmed, it may for a lease:
// a holder believes in its lease for a shorter time than Redis keeps it.
func (h *hold) gone() history.Instant {
	if h.released != nil && h.released.Outcome == history.OK || h.over == history.Never {
		return h.over
	}
	return h.over.Add(h.lease)
}

// leftOut reports whether a waiter may have lost its place between at and its grant.
func leftOut(faults []history.Fault, a *hold, at history.Instant) bool {
	return slices.ContainsFunc(faults, func(f history.Fault) bool {
		switch f.Client {
		case history.Everyone:
			return f.Touches(at.Add(-unsettled), a.from)
		case a.client:
			return f.Touches(at.Add(-unsettledAlone), a.from)
		default:
			return false
		}
	})
}
