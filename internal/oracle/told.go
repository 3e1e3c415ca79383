package oracle

import (
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/history"
)

// Told finds holds whose owners still had them so long after the end of their validity and
// did not know that they were lost, though Redis may have been silent; unless the process did
// not run just then.
func Told(h history.History, slack time.Duration) (found []Violation) {
	inOrder(holds(h.Ops), func(lock string, list []*hold) {
		for _, x := range list {
			if x.valid == 0 || x.released == nil {
				continue
			}
			due := x.valid.Add(slack)
			knew := min(x.lost, x.released.Call) // Release finds the loss by itself
			starved := slices.ContainsFunc(h.Faults, func(f history.Fault) bool { return f.Starved && f.Touches(x.valid, due) })
			if knew > due && !starved {
				found = append(found, violated("told", lock, "%v was valid until %v, and its owner not told before %v", x, x.valid, knew))
			}
		}
	})
	return found
}
