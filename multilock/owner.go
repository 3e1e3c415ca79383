package multilock

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// identity is who a call on a MultiLock acts for.
type identity struct {
	owner  string
	acting context.Context // with which goroutines of the MultiLock ask the members for the caller
	lost   error           // ctx comes from a hold of this MultiLock that is lost
	tenure *tenure         // that ctx comes from; nil: ctx comes from none of this MultiLock
}

// has reports whether a hold on the owner's record is one of the tenure that the call acts in.
func (id identity) has(h *Hold) bool { return id.tenure == nil || id.tenure == h.tenure }

// identify finds out who acts with ctx: the owner of the hold on this MultiLock that ctx comes from,
// else the one that it names, else the calling goroutine. The members find out for themselves,
// with the acting ctx: each may be held by another ancestor.
func (l *MultiLock) identify(ctx context.Context) (id identity, err error) {
	return l.find(ctx, func(h *Hold) bool { return !h.over() })
}

// identifyToLeave is identify for an Unlock. A hold that was released counts while one that an
// Unlock is to release is nested in it, or was: it may have outlived it.
func (l *MultiLock) identifyToLeave(ctx context.Context) (identity, error) {
	return l.find(ctx, func(h *Hold) bool { return !h.over() || l.outlived(h) })
}

func (l *MultiLock) find(ctx context.Context, counts func(*Hold) bool) (id identity, err error) {
	id.acting, id.owner, err = reentrant.BindOwner(ctx, func(c reentrant.Cover) (string, bool) {
		mine, is := c.(cover)
		if !is || mine.h.l.holdRecord != l.holdRecord || !counts(mine.h) {
			return "", false
		}
		id.lost, id.tenure = mine.h.loss(), mine.h.tenure
		return mine.h.owner, true
	})
	return id, err
}

// cover is what the ctx of a hold carries.
type cover struct{ h *Hold }

// Covers implements [reentrant.Cover].
func (c cover) Covers(p reentrant.Part) (reentrant.Covering, bool) {
	if !c.h.l.has(p) {
		return reentrant.Covering{}, false
	}
	// In this order: a hold that is over or lost has let go of its members since, or may have.
	covering := reentrant.Covering{Owner: c.h.owner}
	covering.Hold, _ = c.h.covers(p)
	if covering.Lost = c.h.loss(); covering.Lost != nil {
		covering.Hold = nil
	}
	return covering, !c.h.over()
}

// has reports whether the part is one of a member's.
func (l *MultiLock) has(p reentrant.Part) bool {
	for _, m := range l.members {
		for _, part := range m.Parts() {
			if part.Same(p) {
				return true
			}
		}
	}
	return false
}

// covers returns the innermost hold on a part, nil if the hold does without it.
func (h *Hold) covers(p reentrant.Part) (hold *reentrant.Hold, covered bool) {
	h.eachHeld(func(x *memberHold) {
		if inner, is := x.tenure.Covers(p); is {
			hold, covered = inner, true
		}
	})
	return hold, covered || h.l.has(p)
}

// Had implements [reentrant.Cover].
func (c cover) Had(p reentrant.Part) *reentrant.Hold { return c.h.had(p) }

// Ended implements [reentrant.Cover].
func (c cover) Ended(p reentrant.Part) (owner string, at time.Time, ended bool) {
	if !c.h.l.has(p) {
		return "", time.Time{}, false
	}
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	return c.h.owner, c.h.ended, !c.h.ended.IsZero()
}

// had returns the hold on a part that this one has or had last, nil if there is none.
func (h *Hold) had(p reentrant.Part) *reentrant.Hold {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.holds {
		t := h.holds[i].tenure
		if t == nil {
			t = h.holds[i].last
		}
		if t == nil {
			continue
		}
		if hold := t.Had(p); hold != nil {
			return hold
		}
	}
	return nil
}

// Covers and Had implement [reentrant.Tenure].
func (t multiTenure) Covers(p reentrant.Part) (*reentrant.Hold, bool) { return t.covers(p) }
func (t multiTenure) Had(p reentrant.Part) *reentrant.Hold            { return t.had(p) }
