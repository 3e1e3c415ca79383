package multilock

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/multi"
	"github.com/redlatch/redlatch/internal/scope"
)

// identity is for whom a call on a MultiLock acts.
type identity struct {
	owner  string
	acting context.Context // goroutines of the MultiLock ask the members with it, for the caller
	lost   error           // ctx comes from a hold of this MultiLock that is lost
	tenure *tenure         // of the hold that ctx comes from; nil: ctx comes from no hold of this MultiLock
}

// has reports whether a hold on the owner's record belongs to the tenure in which the call acts.
func (id identity) has(h *Hold) bool { return id.tenure == nil || id.tenure == h.tenure }

// identify finds the owner that acts with ctx: the owner of the hold on this MultiLock that ctx comes
// from, else the owner that ctx names, else the calling goroutine. The members find their owners by
// themselves, with the acting ctx: ctx may come from holds of other locks too, and another of them
// may have the member.
func (l *MultiLock) identify(ctx context.Context) (id identity, err error) {
	return l.find(ctx, func(h *Hold) bool { return !h.over() })
}

// identifyToLeave is identify for an Unlock. A hold that was released still counts while its tenure
// has a hold for Unlock on the record: a nested Lock may outlive the hold with whose ctx it was
// taken, and no other owner could unlock it.
func (l *MultiLock) identifyToLeave(ctx context.Context) (identity, error) {
	return l.find(ctx, func(h *Hold) bool { return !h.over() || l.outlived(h) })
}

// find looks for a hold on this MultiLock among the covers that ctx carries. counts tells which holds
// count.
func (l *MultiLock) find(ctx context.Context, counts func(*Hold) bool) (id identity, err error) {
	id.acting, id.owner, err = scope.BindOwner(ctx, func(s scope.Scope) (string, bool) {
		mine, is := s.(cover)
		if !is || mine.h.l.holdRecord != l.holdRecord || !counts(mine.h) {
			return "", false
		}
		id.lost, id.tenure = mine.h.loss(), mine.h.tenure
		return mine.h.owner, true
	})
	return id, err
}

// cover is what the ctx of a hold carries: the hold.
type cover struct {
	h     *Hold
	outer scope.Scope // around the hold, in its ctx
}

// Outer implements [scope.Scope].
func (c cover) Outer() scope.Scope { return c.outer }

// Covers implements [multi.Cover].
func (c cover) Covers(p multi.Part) (multi.Covering, bool) {
	if !c.h.l.has(p) {
		return multi.Covering{}, false
	}
	// The member's hold is read first, the state of this hold second. The other way round this hold
	// could end between the two and let go of the member: then it would look as if it did without
	// that member.
	covering := multi.Covering{Owner: c.h.owner}
	covering.Hold, _ = c.h.covers(p)
	if covering.Lost = c.h.loss(); covering.Lost != nil {
		covering.Hold = nil
	}
	return covering, !c.h.over()
}

// has reports whether the part belongs to one of the members.
func (l *MultiLock) has(p multi.Part) bool {
	for _, m := range l.members {
		for _, part := range m.Parts() {
			if part.Same(p) {
				return true
			}
		}
	}
	return false
}

// covers returns the innermost hold on a part, nil if this hold does without the member.
func (h *Hold) covers(p multi.Part) (hold multi.Hold, covered bool) {
	h.eachHeld(func(x *memberHold) {
		if inner, is := x.tenure.Covers(p); is {
			hold, covered = inner, true
		}
	})
	return hold, covered || h.l.has(p)
}

// Had implements [multi.Cover].
func (c cover) Had(p multi.Part) multi.Hold { return c.h.had(p) }

// Ended implements [multi.Cover].
func (c cover) Ended(p multi.Part) (owner string, at time.Time, ended bool) {
	if !c.h.l.has(p) {
		return "", time.Time{}, false
	}
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	return c.h.owner, c.h.ended, !c.h.ended.IsZero()
}

// had returns the hold on a part that this hold has, or had last, nil if there is none.
func (h *Hold) had(p multi.Part) multi.Hold {
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

// Covers and Had implement [multi.Tenure].
func (t multiTenure) Covers(p multi.Part) (multi.Hold, bool) { return t.covers(p) }
func (t multiTenure) Had(p multi.Part) multi.Hold            { return t.had(p) }
