package multilock

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/multi"
	"github.com/redlatch/redlatch/reentrant"
	"github.com/redlatch/redlatch/watchdog"
)

// NotExtendedError is [reentrant.ErrNotExtended]. It is also what the members' errors are.
type NotExtendedError struct {
	Name      string
	Confirmed int
	Need, Of  int
	Members   []*MemberError
}

func (e *NotExtendedError) Error() string {
	return fmt.Sprintf("redlatch: lease of lock %q not extended: %d of %d confirmed, %d needed%s",
		e.Name, e.Confirmed, e.Of, e.Need, list(e.Members))
}

// Is makes it [reentrant.ErrNotExtended].
func (e *NotExtendedError) Is(target error) bool { return target == reentrant.ErrNotExtended }

// Unwrap gives the members' errors.
func (e *NotExtendedError) Unwrap() []error { return unwrap(nil, e.Members) }

// Extend makes a hold with a fixed lease last for d from now, as [reentrant.Hold.Extend] does for a
// Lock. It extends every member that is held; a quorum needs a majority at least and gives the rest a
// moment. [Hold.ValidUntil] is then the earliest validity among the members that are needed. Extend
// never shortens a lease.
//
// It waits until ctx ends, or until the members' own retries end. The errors are
// [reentrant.ErrInvalidLease], [reentrant.ErrRenewed], [reentrant.ErrNotHeld], [reentrant.ErrLost],
// and a [NotExtendedError] if fewer members than needed have confirmed. Some members may last longer
// then, and the hold is valid for as long as enough of them are.
func (h *Hold) Extend(ctx context.Context, d time.Duration) error {
	if err := checkLease(d); err != nil {
		return err
	}
	if _, ok := h.review(); !ok {
		return h.whyOver()
	}
	h.mu.Lock()
	holds, renewed := slices.Clone(h.holds), h.fixed.IsZero()
	h.mu.Unlock()
	if renewed {
		return fmt.Errorf("redlatch: lock %q: %w", h.l.name, reentrant.ErrRenewed)
	}
	confirmed, members := h.l.tell(ctx, holds, h.l.need, func(t multi.Tenure, ctx context.Context) error {
		return t.Extend(ctx, d)
	})
	if _, ok := h.review(); !ok {
		return h.whyOver()
	}
	h.mu.Lock()
	h.fixed = latest(h.fixed, h.l.leased(h.holds))
	h.mu.Unlock()
	h.notify() // the monitor, which waits for the old end
	if confirmed < h.l.need {
		return &NotExtendedError{Name: h.l.name, Confirmed: confirmed, Need: h.l.need, Of: len(holds), Members: members}
	}
	return nil
}

// ranOut reports whether the hold had a fixed lease that is over. Such a hold need not be released.
func (h *Hold) ranOut() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.fixed.IsZero() && watchdog.Passed(h.fixed)
}

// whyOver is the error of a hold that is released or lost.
func (h *Hold) whyOver() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return h.err
	}
	return &reentrant.NotHeldError{Name: h.l.name, Owner: h.owner}
}
