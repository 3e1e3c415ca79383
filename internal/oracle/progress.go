package oracle

import (
	"time"

	"github.com/redlatch/redlatch/internal/history"
)

// Progress finds calls that had to return and did not. Those that wait without a limit
// are to have the lock within bound after calm, when the last fault was over and nobody
// keeps the lock for long any more; those with a limit, and releases, return within bound
// after it, faults or not. And one that Must succeed does, if it began after calm.
// end is when the history was taken.
//
// Nothing is asked of a machine that is too busy: of calls of which a tenth of that time was
// disturbed, by whatever is noted after calm or by what starved the process before.
func Progress(h history.History, calm, end history.Instant, bound time.Duration) (found []Violation) {
	for _, op := range h.Ops {
		var from history.Instant
		switch {
		case op.Kind == history.Acquire && op.Wait < 0:
			from = max(op.Call, calm)
		case op.Kind == history.Acquire, op.Kind == history.Release:
			from = op.Call.Add(op.Wait)
		default:
			continue
		}
		due, back := from.Add(bound), min(op.Return, end)
		switch {
		case back > due && disturbance(h.Faults, calm, from, due) < bound/10:
			found = append(found, violated("progress", op.Lock, "%v: to be back by %v, calm since %v, not back before %v",
				op, due, calm, back))
		case op.Must && op.Call >= calm && op.Returned() && op.Outcome != history.OK &&
			disturbance(h.Faults, calm, op.Call, op.Return) == 0:
			found = append(found, violated("progress", op.Lock, "%v: calm since %v", op, calm))
		}
	}
	return found
}

// disturbance is how much of a time something was wrong that was not meant to be.
func disturbance(faults []history.Fault, calm, from, until history.Instant) (sum time.Duration) {
	for _, f := range faults {
		if f.End > calm || f.Starved {
			sum += max(0, min(f.End, until).Sub(max(f.Start, from)))
		}
	}
	return sum
}
