package oracle

import "github.com/redlatch/redlatch/internal/history"

// Releases finds releases that were refused although the hold had been granted, and
// releases of what was never held that were not refused. Of a hold that was lost they say
// so, which is not a refusal.
func Releases(h history.History) (found []Violation) {
	for _, op := range h.Ops {
		if op.Kind != history.Release {
			continue
		}
		switch {
		case op.Hold != 0 && op.Outcome == history.Refused:
			found = append(found, violated("releases", op.Lock, "%v: it was held", op))
		case op.Hold == 0 && op.Outcome == history.OK:
			found = append(found, violated("releases", op.Lock, "%v: nothing was held", op))
		}
	}
	return found
}
