package multilock

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/reentrant"
)

// The errors of a MultiLock are these, and the ones of package reentrant: [reentrant.ErrNotAcquired],
// [reentrant.ErrBusy], [reentrant.ErrLost], [reentrant.ErrNotHeld], [reentrant.ErrUnconfirmed] and so
// on.
var (
	// ErrMembers: there is no member, or two that are the same lock.
	ErrMembers = errors.New("redlatch: invalid members")

	// ErrQuarantined: the server was started or replaced only a short time ago. It may have forgotten
	// a lock that its owner still trusts. [QuarantineError]
	ErrQuarantined = errors.New("redlatch: server may have forgotten locks")

	// ErrNoAnswer: the member took longer than [WithMemberLimit], or much longer than
	// the others.
	ErrNoAnswer = errors.New("redlatch: no answer in time")
)

// An attempt on one member may end before the call does, with one of these causes: the member took
// longer than the members' limit, or the round was decided without it.
var (
	errSilent  = errors.New("silent for too long")
	errDecided = errors.New("decided without it")
)

// errSlow is a member's error if the round was decided without its answer. The member is not known to
// have failed.
var errSlow = fmt.Errorf("%w: decided without it", ErrNoAnswer)

// errAskedLate is a member's error if its server was asked who it is so late after the grant that it may have restarted
// in between. The member has not failed.
var errAskedLate = fmt.Errorf("%w: the server was asked who it is too late after the grant", ErrQuarantined)

// errTooLate: when enough members were held, so much of the lease had passed that nothing was left.
var errTooLate = errors.New("redlatch: the lease ended before enough members were held")

// These tell why a member that is held is not trusted any more, if nothing else is known. The process
// may have been stopped.
var (
	errLeaseEnded = errors.New("redlatch: the lease ended")
	errUnproven   = errors.New("redlatch: too long ago that the server said who it is")
)

// MemberError is the error of one member.
type MemberError struct {
	Name   string // of the lock
	Server string
	Err    error
}

func (e *MemberError) Error() string {
	return fmt.Sprintf("redlatch: lock %q on %s: %s", e.Name, e.Server, plain(e.Err))
}

// Unwrap gives the error.
func (e *MemberError) Unwrap() error { return e.Err }

// NotAcquiredError is [reentrant.ErrNotAcquired]. It is also what Err and the members' errors are.
type NotAcquiredError struct {
	Name     string
	Held     int // members held at the last try
	Need, Of int
	Waited   time.Duration
	// Err is why the wait ended: ctx's error and cause, or an error that waiting does not mend. It is
	// nil at the limit of the wait.
	Err     error
	Members []*MemberError // of the last try

	// Busy says that so many members were another owner's that the rest was not enough, and that the
	// wait ended at its limit or at the deadline of ctx. It is false after a cancellation. The error
	// is [reentrant.ErrBusy] if Busy is set; a single busy member does not make it so.
	Busy bool

	// These fields are for an outer MultiLock, which asked this one as a member. It must not go by
	// the errors in Members: they are about single members of this lock, not about the lock. So many
	// members failed that the rest was not enough, in a way that may pass (failed) or does not
	// (doomed).
	failed, doomed bool
	said           bool // enough members are busy, and their servers or holders have confirmed it
	waits          bool // with more time the call would wait for a member that is another owner's
}

func (e *NotAcquiredError) Error() string {
	what := "not acquired"
	if e.Busy {
		what = "is busy"
	}
	s := fmt.Sprintf("redlatch: lock %q %s after %v: %d of %d held, %d needed",
		e.Name, what, e.Waited.Round(time.Millisecond), e.Held, e.Of, e.Need)
	if e.Err != nil {
		s += ": " + plain(e.Err)
	}
	return s + list(e.Members)
}

// Is makes it [reentrant.ErrNotAcquired], and [reentrant.ErrBusy] if Busy is set.
func (e *NotAcquiredError) Is(target error) bool {
	return target == reentrant.ErrNotAcquired || target == reentrant.ErrBusy && e.Busy
}

// Unwrap gives the reasons. A member that is busy does not make the lock [reentrant.ErrBusy].
func (e *NotAcquiredError) Unwrap() []error {
	all := unwrap(e.Err, e.Members)
	for i, err := range all {
		all[i] = errs.Without(err, reentrant.ErrBusy)
	}
	return all
}

// LostError is [reentrant.ErrLost]. It is also what the members' errors are. The error of a member
// that could not be taken again counts as [reentrant.ErrClosed] at most, and never as
// [reentrant.ErrNotAcquired].
type LostError struct {
	Name     string
	Owner    string // without a Client's ID, which differs from member to member
	Valid    int    // members that could still be trusted
	Need, Of int
	Held     time.Duration  // from the grant to the loss
	Members  []*MemberError // members that were lost or never held, or that could not be trusted any more
}

func (e *LostError) Error() string {
	return fmt.Sprintf("redlatch: lock %q lost by %s after %v: %d of %d valid, %d needed%s",
		e.Name, e.Owner, e.Held.Round(time.Millisecond), e.Valid, e.Of, e.Need, list(e.Members))
}

// Is makes it [reentrant.ErrLost].
func (e *LostError) Is(target error) bool { return target == reentrant.ErrLost }

// Unwrap gives the members' errors. It leaves [reentrant.ErrNotAcquired] out: a nested call that
// hears of the loss was not refused the lock.
func (e *LostError) Unwrap() (all []error) {
	for _, m := range e.Members {
		switch {
		case !errors.Is(m, reentrant.ErrNotAcquired):
			all = append(all, m)
		case errors.Is(m, reentrant.ErrClosed):
			all = append(all, reentrant.ErrClosed)
		}
	}
	return all
}

// ReleaseError says that fewer members than needed confirmed a release. It is also what the members'
// errors are: [reentrant.ErrUnconfirmed] as a rule, and [reentrant.ErrLost] if a member was lost
// unnoticed.
type ReleaseError struct {
	Name      string
	Confirmed int
	Need, Of  int
	Members   []*MemberError
}

func (e *ReleaseError) Error() string {
	return fmt.Sprintf("redlatch: release of lock %q: %d of %d confirmed, %d needed%s",
		e.Name, e.Confirmed, e.Of, e.Need, list(e.Members))
}

// Unwrap gives the members' errors.
func (e *ReleaseError) Unwrap() []error { return unwrap(nil, e.Members) }

// QuarantineError is [ErrQuarantined]. It names the server and says how long the quarantine lasts.
type QuarantineError struct {
	Name   string
	Server string
	Left   time.Duration
}

func (e *QuarantineError) Error() string {
	return fmt.Sprintf("redlatch: lock %q: server %s was started or replaced too short a time ago, it is not counted for another %v",
		e.Name, e.Server, e.Left.Round(time.Millisecond))
}

// Is makes it [ErrQuarantined].
func (e *QuarantineError) Is(target error) bool { return target == ErrQuarantined }

func unwrap(err error, members []*MemberError) (all []error) {
	if err != nil {
		all = append(all, err)
	}
	for _, m := range members {
		all = append(all, m)
	}
	return all
}

// list is the members' errors, for the end of a message.
func list(members []*MemberError) string {
	var s strings.Builder
	for _, m := range members {
		fmt.Fprintf(&s, "; %s: %s", m.Server, plain(m.Err))
	}
	return s.String()
}

// plain is the text of an error that becomes a part of another's text.
func plain(err error) string { return strings.TrimPrefix(err.Error(), "redlatch: ") }
