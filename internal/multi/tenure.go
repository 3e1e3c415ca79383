package multi

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/scope"
)

// Tenure is a hold on a [Member].
type Tenure interface {
	Context() context.Context // ends with the hold, for the cause of its end
	ValidUntil() time.Time
	Tokens() []int64 // fencing tokens, one for each part
	Owners() []string
	Release(ctx context.Context) error

	// Extend and ReleaseAfter are those of a Hold, but ReleaseAfter releases in any case: if the owner has
	// other holds, without leaving the lock to nobody. Alone reports that it has none.
	Extend(ctx context.Context, d time.Duration) error
	ReleaseAfter(ctx context.Context, d time.Duration) error
	Alone() bool

	// Covers returns the hold on that part, nil if the tenure has none. It reports false if the part
	// is not one of the member's.
	Covers(p Part) (hold Hold, covered bool)

	// Had is that of [Cover], for the tenure.
	Had(p Part) Hold
}

// Hold is a hold on one part, as the scope that its ctx carries. Package reentrant makes it, and alone
// looks into it.
type Hold scope.Scope
