package multi

import (
	"time"

	"github.com/redlatch/redlatch/internal/scope"
)

// Cover is a hold on a lock over several others, as the scope that its ctx carries. A call that comes
// from it enters every part again.
type Cover interface {
	scope.Scope

	// Covers says what the hold has of a part. It reports false if the part is not one of its
	// lock's, or the hold was released.
	Covers(p Part) (Covering, bool)

	// Had returns the hold on the part that the cover has or had last, also when it is released or lost; nil if
	// there is none. For an Unlock it leads to the tenure, in which a nested Lock may have outlived the cover.
	Had(p Part) Hold

	// Ended says whose the cover was and when it was released or lost, if it was and the part is one of its
	// lock's. A part that it did without may have been locked with its ctx before, by that owner.
	Ended(p Part) (owner string, at time.Time, ended bool)
}

// Covering is what a [Cover] has of one part.
type Covering struct {
	Hold  Hold   // nil: the hold does without this part
	Owner string // of the covering hold, without a Client's ID
	Lost  error  // the covering hold is lost; nil: it is not
}
