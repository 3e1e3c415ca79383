package multilock

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/multi"
	"github.com/redlatch/redlatch/reentrant"
)

// ReleaseAfter releases the hold as [Hold.Release] does, but the members stay taken: their servers
// free them d after the call, without this process. Until then no owner has them, see
// [reentrant.Hold.ReleaseAfter]. With d of 0 or less it is Release.
//
// The hold must be the owner's only one on the lock and on each member; otherwise ReleaseAfter
// returns [reentrant.ErrNested] and changes nothing. The result of a quorum is nil when a majority
// has confirmed, so that no other majority can be had before d is over. After an error some members
// may be free when their leases end.
func (h *Hold) ReleaseAfter(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return h.Release(ctx)
	}
	if err := checkLease(max(d, time.Millisecond)); err != nil {
		return err
	}
	if !h.alone() {
		return fmt.Errorf("%w: %q", reentrant.ErrNested, h.l.name)
	}
	until := time.Now().Add(d)
	return h.releaseAs(ctx, func(t multi.Tenure, ctx context.Context) error {
		return t.ReleaseAfter(ctx, time.Until(until))
	})
}

// alone reports whether the owner has no other hold on any member.
func (h *Hold) alone() bool {
	alone := true
	h.eachHeld(func(x *memberHold) { alone = alone && x.tenure.Alone() })
	return alone
}

// Alone implements [multi.Tenure].
func (t multiTenure) Alone() bool { return t.alone() }

// ReleaseAfter implements [multi.Tenure]. It releases in any case, at once if the owner has other
// holds.
func (t multiTenure) ReleaseAfter(ctx context.Context, d time.Duration) error {
	if d <= 0 || !t.alone() {
		return t.Hold.Release(ctx)
	}
	return t.Hold.ReleaseAfter(ctx, d)
}
