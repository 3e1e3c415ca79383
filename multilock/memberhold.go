package multilock

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redlatch/redlatch/reentrant"
	"github.com/redlatch/redlatch/watchdog"
)

// memberHold is what an attempt or a hold has of one member.
type memberHold struct {
	m        *member
	tenure   reentrant.Tenure // nil while the member is not held
	last     reentrant.Tenure // what was dropped last, for [Hold.had]
	proof    serverCheck      // with tenure
	unproven error            // why there is no newer proof, if one was asked for
	err      error            // why the member is not held, if it was asked for
	awaited  bool             // err is that of a wait, at whose end the member knows another owner from silence
}

func (g *memberHold) held() bool { return g.tenure != nil }

// ended reports whether the member was held and is lost.
func (g *memberHold) ended() bool { return g.held() && g.tenure.Context().Err() != nil }

// drop forgets a member that was held, and returns what is to be released.
func (g *memberHold) drop(err error) reentrant.Tenure {
	t := g.tenure
	g.last = t
	g.tenure, g.proof, g.unproven, g.err, g.awaited = nil, serverCheck{}, nil, err, false
	return t
}

// busy reports that the member is another owner's.
func (g *memberHold) busy() bool { return !g.held() && isBusy(g.err) }

// retryable reports that somebody who will release the member, or one of its own members, stands
// in the way.
func (g *memberHold) retryable() bool {
	if g.held() || g.busy() {
		return !g.held()
	}
	inner, is := g.err.(*NotAcquiredError)
	return is && inner.waits
}

// confirmedBusy reports whether it was said of a member that is busy, by its server or by its Client that holds
// it, that it is another owner's. Otherwise another call of the same Client is asking for it, and
// may get no answer: then there is nobody who holds the lock, and no time that it is kept for.
func (g *memberHold) confirmedBusy() bool {
	switch e := g.err.(type) {
	case *reentrant.NotAcquiredError:
		return g.awaited || e.Holder != "" || e.TTL != 0
	case *NotAcquiredError:
		return e.said
	}
	return true
}

// isBusy reports that the member as a whole is another owner's: the word of one member of a member
// is not the member's.
func isBusy(err error) bool { return errors.Is(err, reentrant.ErrBusy) }

// failed reports that asking again at once is of no use, and that nobody who would
// release the member stands in the way.
func (g *memberHold) failed() bool {
	if g.held() || g.err == nil || g.busy() {
		return false
	}
	if inner, is := g.err.(*NotAcquiredError); is {
		return inner.failed || inner.doomed || inner.Err != nil
	}
	return !errors.Is(g.err, ErrQuarantined) && !errors.Is(g.err, errSlow)
}

// permanent reports an error that no waiting mends. One is that a call nested in a hold on
// the member has found it lost.
func permanent(err error) bool {
	if inner, is := err.(*NotAcquiredError); is {
		return inner.doomed
	}
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
func (g *memberHold) trust(longest time.Duration) time.Time {
	t := g.tenure.ValidUntil()
	if by := g.proof.until(longest); !by.IsZero() && by.Before(t) {
		return by
	}
	return t
}

// trusted is the instant until which enough members may be taken for held: the
// need-th latest of theirs. It is zero if there are fewer.
func (l *MultiLock) trusted(grips []memberHold) time.Time {
	return l.enoughUntil(grips, func(g *memberHold) time.Time { return g.trust(l.cfg.longest) })
}

// leased is trusted by the members' leases alone: when a hold with a fixed lease ends.
func (l *MultiLock) leased(grips []memberHold) time.Time {
	return l.enoughUntil(grips, func(g *memberHold) time.Time { return g.tenure.ValidUntil() })
}

func (l *MultiLock) enoughUntil(grips []memberHold, until func(*memberHold) time.Time) time.Time {
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

func heldOf(grips []memberHold) (n int) {
	for i := range grips {
		if grips[i].held() {
			n++
		}
	}
	return n
}

// valid counts the members that may be taken for held now.
func (l *MultiLock) valid(grips []memberHold) (n int) {
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
func memberErrors(grips []memberHold) []*MemberError {
	return collect(grips, (*memberHold).failure)
}

// lossErrors are memberErrors and those of members that are held but not trusted any
// more: a silent server ends the trust without a word.
func (l *MultiLock) lossErrors(grips []memberHold) []*MemberError {
	return collect(grips, func(g *memberHold) error {
		if err := g.failure(); err != nil || !g.held() || !watchdog.Passed(g.trust(l.cfg.longest)) {
			return err
		}
		if watchdog.Passed(g.tenure.ValidUntil()) {
			return errLeaseEnded
		}
		return cmp.Or(g.unproven, errUnproven)
	})
}

// failure says why a member is not held, nil if it is or was not asked for.
func (g *memberHold) failure() error {
	switch {
	case g.ended():
		return context.Cause(g.tenure.Context())
	case g.held():
		return nil
	}
	return g.err
}

func collect(grips []memberHold, of func(*memberHold) error) []*MemberError {
	byIndex := make([]*MemberError, len(grips))
	for i := range grips {
		g := &grips[i]
		if err := of(g); err != nil {
			byIndex[g.m.index] = &MemberError{Name: g.m.Name(), Server: g.m.server, Err: err}
		}
	}
	return slices.DeleteFunc(byIndex, func(e *MemberError) bool { return e == nil })
}
