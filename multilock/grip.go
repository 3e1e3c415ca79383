package multilock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch/reentrant"
	"github.com/redlatch/redlatch/watchdog"
)

// grip is what an attempt or a hold has of one member.
type grip struct {
	m      *member
	tenure reentrant.Tenure // nil while the member is not held
	proof  proof            // with tenure
	err    error            // why the member is not held, if it was asked for
}

func (g *grip) held() bool { return g.tenure != nil }

// ended reports whether the member was held and is lost.
func (g *grip) ended() bool { return g.held() && g.tenure.Context().Err() != nil }

// drop forgets a member that was held, and returns what is to be released.
func (g *grip) drop(err error) reentrant.Tenure {
	t := g.tenure
	g.tenure, g.proof, g.err = nil, proof{}, err
	return t
}

// busy reports that the member is another owner's.
func (g *grip) busy() bool { return !g.held() && isBusy(g.err) }

func isBusy(err error) bool {
	var b interface{ Busy() bool }
	return errors.As(err, &b) && b.Busy()
}

// failed reports that asking again at once is of no use, and that nobody who would
// release the member stands in the way.
func (g *grip) failed() bool {
	return !g.held() && g.err != nil && !g.busy() && !errors.Is(g.err, ErrQuarantined) && !errors.Is(g.err, errSlow)
}

// hopeless reports an error that no waiting mends. One is that a call nested in a hold on
// the member has found it lost.
func hopeless(err error) bool {
	for _, target := range []error{
		ErrMembers, reentrant.ErrLost, reentrant.ErrClosed, reentrant.ErrForeignKey, reentrant.ErrInvalidName,
		reentrant.ErrInvalidLease, reentrant.ErrInvalidOwner, reentrant.ErrInvalidOption,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// trust is until when a member that is held may be taken for held: as long as its
// lease is valid and its server is the one that granted it.
func (g *grip) trust(longest time.Duration) time.Time {
	t := g.tenure.ValidUntil()
	if by := g.proof.until(longest); !by.IsZero() && by.Before(t) {
		return by
	}
	return t
}

// trusted is the instant until which enough members may be taken for held: the
// need-th latest of theirs. It is zero if there are fewer.
func (l *MultiLock) trusted(grips []grip) time.Time {
	return l.enoughUntil(grips, func(g *grip) time.Time { return g.trust(l.cfg.longest) })
}

// leased is trusted by the members' leases alone: when a hold with a fixed lease ends.
func (l *MultiLock) leased(grips []grip) time.Time {
	return l.enoughUntil(grips, func(g *grip) time.Time { return g.tenure.ValidUntil() })
}

func (l *MultiLock) enoughUntil(grips []grip, until func(*grip) time.Time) time.Time {
	var ends []time.Time
	for i := range grips {
		if g := &grips[i]; g.held() && !g.ended() {
			ends = append(ends, until(g))
		}
	}
	if len(ends) < l.need {
		return time.Time{}
	}
	slices.SortFunc(ends, func(a, b time.Time) int { return b.Compare(a) })
	return ends[l.need-1]
}

func heldOf(grips []grip) (n int) {
	for i := range grips {
		if grips[i].held() {
			n++
		}
	}
	return n
}

// valid counts the members that may be taken for held now.
func (l *MultiLock) valid(grips []grip) (n int) {
	for i := range grips {
		if g := &grips[i]; g.held() && !g.ended() && !watchdog.Passed(g.trust(l.cfg.longest)) {
			n++
		}
	}
	return n
}

// memberErrors are those of all members that are not held, in the order of the
// arguments. A hold on a member may end at any instant, so one that has ended and was
// not dropped yet is among them.
func memberErrors(grips []grip) []*MemberError {
	byIndex := make([]*MemberError, len(grips))
	for i := range grips {
		g := &grips[i]
		err := g.err
		if g.ended() {
			err = context.Cause(g.tenure.Context())
		} else if g.held() {
			continue
		}
		if err != nil {
			byIndex[g.m.index] = &MemberError{Name: g.m.Name(), Server: g.m.server, Err: err}
		}
	}
	return slices.DeleteFunc(byIndex, func(e *MemberError) bool { return e == nil })
}

// single turns terms into those of a single attempt.
func single(t reentrant.Terms) reentrant.Terms {
	t.Limited, t.Wait = true, 0
	return t
}

// take takes one member and has its server prove itself. A single attempt, and the
// proof, are given the members' limit. When it returns, the member is held with a
// proof, or is free or on its way to be freed.
func (l *MultiLock) take(ctx context.Context, m *member, terms reentrant.Terms) grip {
	g := grip{m: m}
	if l.cfg.prove {
		if g.err = m.quarantined(); g.err != nil {
			return g
		}
	}
	limited, cancel := ctx, context.CancelFunc(func() {})
	if terms.Limited {
		limited, cancel = context.WithTimeoutCause(ctx, l.cfg.limit, errSilent)
	}
	defer cancel()
	asked := time.Now()
	tenure, err := m.Take(limited, terms)
	if err != nil {
		g.err = l.explain(limited, err)
		m.noteSilence(g.err)
		return g
	}
	if terms.Limited {
		defer func() { m.notePace(time.Since(asked)) }()
	}
	p, err := l.prove(ctx, m)
	if err != nil {
		l.giveBack(ctx, tenure)
		g.err = err
		return g
	}
	g.tenure, g.proof = tenure, p
	return g
}

// explain tells a member that was silent from one that was left alone, and from one whose
// caller left.
func (l *MultiLock) explain(limited context.Context, err error) error {
	switch cause := context.Cause(limited); {
	case isBusy(err), hopeless(err):
		return err
	case errors.Is(cause, errSilent):
		return fmt.Errorf("%w, at most %v", ErrNoAnswer, l.cfg.limit)
	case errors.Is(cause, errDecided):
		return errSlow
	}
	return err
}

// giveBack frees a member whose hold is not wanted. What is not confirmed within the
// members' limit goes on in the background, as a matter of the member's Client. So it
// does at once if ctx has ended.
func (l *MultiLock) giveBack(ctx context.Context, t reentrant.Tenure) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.limit)
	defer cancel()
	_ = t.Release(ctx)
}
