package multilock

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/multi"
	"github.com/redlatch/redlatch/reentrant"
	"github.com/redlatch/redlatch/watchdog"
)

// memberHold is what an acquisition or a hold knows about one member: the hold on it, or why there is
// none.
type memberHold struct {
	m        *member
	tenure   multi.Tenure // nil while the member is not held
	last     multi.Tenure // the hold that was dropped last, for [Hold.had]
	proof    serverCheck  // the last check of the server; set with tenure
	unproven error        // why the last check of the server failed, if it did
	err      error        // why the member is not held, if it was asked for
	awaited  bool         // err ended a wait, so it tells another owner from a silent Redis
}

func (g *memberHold) held() bool { return g.tenure != nil }

// ended reports whether the member was held and is lost.
func (g *memberHold) ended() bool { return g.held() && g.tenure.Context().Err() != nil }

// drop forgets a member that was held. It returns the hold, for its release.
func (g *memberHold) drop(err error) multi.Tenure {
	t := g.tenure
	g.last = t
	g.tenure, g.proof, g.unproven, g.err, g.awaited = nil, serverCheck{}, nil, err, false
	return t
}

// busy reports that the member is another owner's.
func (g *memberHold) busy() bool { return !g.held() && isBusy(g.err) }

// retryable reports whether waiting may help: the member is another owner's, or it is a MultiLock
// with a member that is.
func (g *memberHold) retryable() bool {
	if g.held() || g.busy() {
		return !g.held()
	}
	inner, is := g.err.(*NotAcquiredError)
	return is && inner.waits
}

// confirmedBusy reports whether a busy member is confirmed to be another owner's: by its server, or
// by the member's Client, which holds it for that owner. Without such a confirmation the call has
// only found another call of the same Client that is asking for the member. Redis may never answer
// that call: then no holder is known, and no time for which the lock is kept.
func (g *memberHold) confirmedBusy() bool {
	switch e := g.err.(type) {
	case *reentrant.NotAcquiredError:
		return g.awaited || e.Holder != "" || e.TTL != 0
	case *NotAcquiredError:
		return e.said
	}
	return true
}

// isBusy reports that the member as a whole is another owner's. A busy member of the member does not
// make it so.
func isBusy(err error) bool { return errors.Is(err, reentrant.ErrBusy) }

// failed reports that the member has failed: no owner stands in the way who would release it, and it
// is of no use to ask again at once.
func (g *memberHold) failed() bool {
	if g.held() || g.err == nil || g.busy() {
		return false
	}
	if inner, is := g.err.(*NotAcquiredError); is {
		return inner.failed || inner.doomed || inner.Err != nil
	}
	return !errors.Is(g.err, ErrQuarantined) && !errors.Is(g.err, errSlow)
}

// permanent reports an error that waiting does not mend. ErrLost is one: a call nested in a hold on
// the member has found that hold lost.
func permanent(err error) bool {
	if inner, is := err.(*NotAcquiredError); is {
		return inner.doomed
	}
	for _, target := range []error{
		ErrMembers, reentrant.ErrLost, reentrant.ErrClosed, reentrant.ErrForeignKey, reentrant.ErrInvalidName,
		reentrant.ErrInvalidLease, reentrant.ErrInvalidOwner, reentrant.ErrInvalidOption, reentrant.ErrUpgrade,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// trust is until when a member that is held may be trusted: as long as its lease is valid and its
// server is known to be the one that granted it.
func (g *memberHold) trust(longest time.Duration) time.Time {
	t := g.tenure.ValidUntil()
	if by := g.proof.until(longest); !by.IsZero() && by.Before(t) {
		return by
	}
	return t
}

// trusted is the instant until which enough members may be trusted: the need-th latest of their
// instants. It is zero if too few members are held.
func (l *MultiLock) trusted(holds []memberHold) time.Time {
	return l.enoughUntil(holds, func(g *memberHold) time.Time { return g.trust(l.cfg.longest) })
}

// leased is like trusted, but goes by the members' leases alone. It is when a hold with a fixed lease
// ends.
func (l *MultiLock) leased(holds []memberHold) time.Time {
	return l.enoughUntil(holds, func(g *memberHold) time.Time { return g.tenure.ValidUntil() })
}

// enoughUntil is the instant until which enough members last: the need-th latest of their instants,
// and zero if too few are held. until gives a member's instant.
func (l *MultiLock) enoughUntil(holds []memberHold, until func(*memberHold) time.Time) time.Time {
	var ends []time.Time
	for i := range holds {
		if g := &holds[i]; g.held() && !g.ended() {
			ends = append(ends, until(g))
		}
	}
	if len(ends) < l.need {
		return time.Time{}
	}
	slices.SortFunc(ends, func(a, b time.Time) int { return b.Compare(a) })
	return ends[l.need-1]
}

func heldOf(holds []memberHold) (n int) {
	for i := range holds {
		if holds[i].held() {
			n++
		}
	}
	return n
}

// valid counts the members that may be trusted now.
func (l *MultiLock) valid(holds []memberHold) (n int) {
	for i := range holds {
		if g := &holds[i]; g.held() && !g.ended() && !watchdog.Passed(g.trust(l.cfg.longest)) {
			n++
		}
	}
	return n
}

// memberErrors are the errors of all members that are not held, in the order of the arguments. A hold
// on a member may end at any instant, so they include the members whose hold has ended and was not
// dropped yet.
func memberErrors(holds []memberHold) []*MemberError {
	return collect(holds, (*memberHold).failure)
}

// lossErrors are the memberErrors, and errors for members that are held but not trusted any more. A
// silent server reports nothing when the trust in it ends.
func (l *MultiLock) lossErrors(holds []memberHold) []*MemberError {
	return collect(holds, func(g *memberHold) error {
		if err := g.failure(); err != nil || !g.held() || !watchdog.Passed(g.trust(l.cfg.longest)) {
			return err
		}
		if watchdog.Passed(g.tenure.ValidUntil()) {
			return errLeaseEnded
		}
		return cmp.Or(g.unproven, errUnproven)
	})
}

// failure is why a member is not held. It is nil if the member is held, or was never asked for.
func (g *memberHold) failure() error {
	switch {
	case g.ended():
		return context.Cause(g.tenure.Context())
	case g.held():
		return nil
	}
	return g.err
}

func collect(holds []memberHold, of func(*memberHold) error) []*MemberError {
	byIndex := make([]*MemberError, len(holds))
	for i := range holds {
		g := &holds[i]
		if err := of(g); err != nil {
			byIndex[g.m.index] = &MemberError{Name: g.m.Name(), Server: g.m.server, Err: err}
		}
	}
	return slices.DeleteFunc(byIndex, func(e *MemberError) bool { return e == nil })
}
