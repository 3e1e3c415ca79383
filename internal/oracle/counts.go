package oracle

import (
	"slices"

	"github.com/redlatch/redlatch/internal/history"
)

// Counts finds looks at Redis, made while the hold could be trusted, that did not find
// its owner with the hold count that it had, and nobody else.
func Counts(h history.History) (found []Violation) {
	byID := make(map[int64]*hold)
	for _, list := range holds(h.Ops) {
		for _, x := range list {
			byID[x.id] = x
		}
	}
	for _, op := range h.Ops {
		x := byID[op.Hold]
		if op.Kind != history.Counted || op.Outcome != history.OK || x == nil || op.Call < x.from || op.Return >= x.until {
			continue
		}
		right := len(op.Got) == 1
		for _, n := range op.Got {
			right = right && n == op.Want
		}
		excused := slices.ContainsFunc(h.Faults, func(f history.Fault) bool {
			return forgets(f, op.Lock) && f.Touches(x.call, op.Return)
		})
		if !right && !excused {
			found = append(found, violated("counts", op.Lock, "%s has %d holds, Redis says %v (hold %d, at %v)",
				op.Owner, op.Want, op.Got, op.Hold, op.Return))
		}
	}
	return found
}
