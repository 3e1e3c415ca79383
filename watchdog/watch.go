package watchdog

import (
	"sync/atomic"
	"time"
)

// Target names a lease in Redis: the key, and the owner that Redis must find there. While the lease
// may be moving from Owner to Next, Redis may find either; Next is empty otherwise.
type Target struct {
	Key, Owner, Next string

	Reads bool // Owner reads a read-write lock: beside its field it has a key of its own
	Guard bool // set by the watchdog: as in Schedule
}

// Schedule says until when a lease may be trusted and whether it is renewed.
type Schedule struct {
	// ValidUntil is the instant until which the lease may be trusted, see
	// [Validity]. It should carry a monotonic reading, as times derived from
	// time.Now do.
	ValidUntil time.Time

	// Renew is false for a fixed lease, which is only watched for its end.
	Renew bool

	// Guard is for a fixed lease, which Redis has and another client may shorten. With Renew, the calls
	// of RenewFunc ask for it as for any lease, and Renewed moves no validity.
	Guard bool

	// RenewUntil ends renewal: none is sent at or after it, and the lease is
	// lost when its last validity has passed. Zero means no limit.
	RenewUntil time.Time
}

// Handler is told about one lease. It is called from the watchdog's goroutine with none of its
// mutexes held. It must not block: every other lease waits meanwhile. It may call Add, Update and
// Remove, but not Close. A panic in it is not recovered.
//
// After Remove, and after Lost, nothing more is delivered for that registration, except a call of
// Renewed that was already under way.
type Handler interface {
	// Renewed is called after a renewal moved the lease's ValidUntil.
	Renewed(validUntil time.Time)

	// Lost is called at most once for each registration, which is over by then. It means that the
	// lease can no longer be trusted, not that another owner has it: with CauseExpired the key may
	// still be there.
	Lost(cause Cause)
}

// Cause says why a lease was lost.
type Cause int

// The zero Cause is none of these.
const (
	// Redis said that the target's owner does not, or not any more, have the lease.
	CauseNotOwner Cause = iota + 1
	CauseExpired        // its validity passed and no renewal had been confirmed
)

func (c Cause) String() string {
	switch c {
	case CauseNotOwner:
		return "not owner"
	case CauseExpired:
		return "expired"
	}
	return "unknown cause"
}

// Watch is one watched lease. It belongs in the holder's struct, by value: it needs no allocation,
// timer or goroutine of its own. Its zero value is not watched. It must not be copied after its first
// use, nor be used with two watchdogs at the same time. The watchdog refers to it while it is
// watched.
//
// The watchdog's mutex guards all fields except unanswered.
type Watch struct {
	_ noCopy

	target     Target
	handler    Handler
	validUntil time.Time
	renewUntil time.Time

	// call is the call that is to answer for the next step of this watch, nil when there is none. The
	// watch is not queued for renewal meanwhile. A call that was given up is not kept here any more,
	// though its answer still counts.
	call *call

	// gen is raised when a registration begins, when its target changes and when it ends. An answer
	// carries the gen for which it was asked, and counts for no other.
	gen uint64

	// pos holds 1 + the index in either queue, 0 when not queued. A watch is
	// watched exactly while it is queued for its expiry.
	pos [2]int32

	renew bool
	guard bool
	aside bool // in the backlog it is in the queue aside, not in the queue due

	// unanswered counts the renewals of this registration, or of the last one, that were sent and
	// that Redis has answered neither with Renewed nor with NotOwner. It is written with the mutex,
	// and read without it once the registration is over.
	unanswered atomic.Int32
}

func (x *Watch) watched() bool { return x.pos[byExpiry] != 0 }

// Unanswered reports whether a renewal of x was sent and not answered, so that it may still run in
// Redis. It is about the registration that has just ended, or the present one. It errs on the safe
// side: it is true after a renewal that failed or was sent to an earlier target.
func (x *Watch) Unanswered() bool { return x.unanswered.Load() > 0 }

// noCopy makes go vet complain about copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}
