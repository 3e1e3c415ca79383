package multilock

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/multi"
	"github.com/redlatch/redlatch/reentrant"
)

// Locker is a lock that can be a member of a MultiLock: a [reentrant.Lock], or a [MultiLock].
type Locker interface {
	Member() multi.Member
}

var (
	_ Locker = (*reentrant.Lock)(nil)
	_ Locker = (*MultiLock)(nil)
)

// MultiLock is a lock over several others, its members. The package comment describes the two kinds,
// and what each survives. It is safe for use by many goroutines. [New] and the functions like it make
// one; the zero value has no member, and cannot be locked: [ErrMembers].
//
// Unlike a [reentrant.Lock] it has a state of its own: it remembers its holds by owner, so that
// [MultiLock.Unlock] finds what to release. Unlock the MultiLock that was locked, or one that
// [MultiLock.With] made of it, and not another one with the same members. Nested locking works
// through any of them.
type MultiLock struct {
	name    string
	members []*member // in canonical order
	parts   int       // of all members
	need    int       // how many members make a hold
	quorum  bool
	cfg     config
	with    multi.Terms // the options of With
	err     error       // of an option of With

	*holdRecord // the holds; nil for the zero value
}

// New makes a MultiLock that is held when every member is held. It does no I/O. It returns
// [ErrMembers] if there is no member, or the same member twice. An invalid name of a member shows at
// the first use, which returns [reentrant.ErrInvalidName].
func New(locks ...Locker) (*MultiLock, error) { return NewWith(locks) }

// NewQuorum makes a MultiLock that is held when more than half of its members are held: Redlock, for
// independent servers, best five of them. It does no I/O. It returns [ErrMembers] if there is no
// member, or the same member twice. Two members may be locks of one name on one server: that may show
// only at the first use, as an invalid name does.
func NewQuorum(locks ...Locker) (*MultiLock, error) { return NewQuorumWith(locks) }

// NewWith is [New] with options: [WithMemberLimit]. Any other option, and a value that is not
// allowed, is [reentrant.ErrInvalidOption].
func NewWith(locks []Locker, opts ...Option) (*MultiLock, error) {
	return build(locks, len(locks), false, opts)
}

// NewQuorumWith is [NewQuorum] with options: [WithMemberLimit], [WithLongestLease],
// [WithoutQuarantine]. A value that is not allowed is [reentrant.ErrInvalidOption].
func NewQuorumWith(locks []Locker, opts ...Option) (*MultiLock, error) {
	return build(locks, len(locks)/2+1, true, opts)
}

// build makes a MultiLock of which need members make a hold.
func build(locks []Locker, need int, quorum bool, opts []Option) (*MultiLock, error) {
	members, err := newMembers(locks)
	if err != nil {
		return nil, err
	}
	l := &MultiLock{
		name:       nameOf(members),
		members:    members,
		need:       need,
		quorum:     quorum,
		holdRecord: newHoldRecord(),
	}
	for _, m := range members {
		l.parts += m.parts
	}
	l.cfg, err = newConfig(members, quorum, opts)
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Name returns the members' names, each once, joined by "+". It is for messages.
func (l *MultiLock) Name() string { return l.name }

// Lock takes the lock, waiting until it is free. It keeps the lock by renewing its members until it
// is released or lost. The wait ends when the lock is acquired, when ctx ends, or when so many
// members fail that the rest is not enough. A member fails after three tries, or after one lease if
// the members had answered this call before. Lock waits for a member that is busy, or in quarantine.
// The error then is [reentrant.ErrNotAcquired] with the errors of all members, and no member is left
// locked. A grant whose answer did not come is given back in the background, within one lease.
//
// An owner that holds the lock enters it again, and calls [MultiLock.Unlock] once for each Lock. If
// that finds the lock lost, the error is [reentrant.ErrLost].
func (l *MultiLock) Lock(ctx context.Context) error {
	return l.lock(ctx)
}

// LockLease is Lock with a fixed lease: no member is renewed, and the hold is lost when the lease
// ends. Nested in a hold that is renewed, or around one, it does not end the renewal. The lease is 1
// ms to 100 years; otherwise the error is [reentrant.ErrInvalidLease].
func (l *MultiLock) LockLease(ctx context.Context, lease time.Duration) error {
	return l.lock(ctx, reentrant.WithFixedLease(lease))
}

// TryLock is Lock with a limit on the wait, which holds also while servers are silent. A wait of 0 or
// less is a single attempt. Silent servers can make it three times as long as the members' limit
// ([WithMemberLimit]). The limit applies to the grant, to the servers' word about who they are, and
// to giving back members that are not enough. With lease 0 the hold is renewed, or is as
// [MultiLock.With] says; otherwise it has that fixed lease.
//
// TryLock returns false and no error if so many members were another owner's that the rest was not
// enough. With wait 0 it does so also if another call of the same Client was asking for them, or this
// owner's unconfirmed release was still under way. It returns false and an error if such members
// alone do not explain the failure; silence at the limit is another reason. When ctx has ended the
// wait, the error is not nil; it is [reentrant.ErrBusy] if ctx's deadline ended the wait and so many
// members were another owner's.
func (l *MultiLock) TryLock(ctx context.Context, wait, lease time.Duration) (bool, error) {
	opts := []reentrant.AcquireOption{reentrant.WithWait(wait)}
	if lease != 0 {
		opts = append(opts, reentrant.WithFixedLease(lease))
	}
	err := l.lock(ctx, opts...)
	var e *NotAcquiredError
	if errors.As(err, &e) && e.Busy && e.Err == nil {
		return false, nil
	}
	return err == nil, err
}

// Unlock releases the owner's last hold on this MultiLock made by Lock, LockLease or TryLock, even if
// a later hold was made by Acquire or Do. It never releases a hold of Acquire or Do. It releases all
// members, also after an error. It returns [reentrant.ErrNotHeld], changing nothing, if the owner has
// no such hold, and [reentrant.ErrLost] if it has lost it.
//
// Unlock waits for the members' confirmations until the deadline of ctx, or for 5 s if ctx has none
// or that deadline has passed. With a ctx that never ends it waits until the members' own retries
// end. A cancellation does not end the wait. A quorum waits for a majority, and a moment for the
// rest. If fewer members than needed confirm, the error is a [ReleaseError].
func (l *MultiLock) Unlock(ctx context.Context) error {
	if l.err != nil {
		return l.err
	}
	id, err := l.identifyToLeave(ctx)
	if err != nil {
		return err
	}
	h, others := l.pop(id)
	if h != nil {
		return h.Release(ctx)
	}
	if lost := cmp.Or(id.lost, l.owed(id.owner)); lost != nil {
		return lost // the loss of a hold whose Release has still to be called
	}
	return &reentrant.NotHeldError{Name: l.name, Owner: id.owner, ByHold: others, Holder: l.otherHolder(id.owner)}
}

// Acquire takes the lock as Lock does and returns the hold as a value. Each Acquire makes a Hold of
// its own, also on re-entry, and needs one [Hold.Release]. The options are [reentrant.WithWait] and
// [reentrant.WithFixedLease].
func (l *MultiLock) Acquire(ctx context.Context, opts ...reentrant.AcquireOption) (*Hold, error) {
	terms, err := l.terms(opts)
	if err != nil {
		return nil, err
	}
	return l.acquire(ctx, terms, forHold)
}

// Do acquires the lock, calls fn with the hold's ctx and releases the lock, also when fn panics. It
// returns the error of the acquisition, or fn's error joined with the release's: a nil error means
// that fn succeeded and held the lock to the end. If the lock is lost meanwhile, fn's ctx ends, and
// the error is [reentrant.ErrLost], whatever fn returns. The release waits as [MultiLock.Unlock]
// does, also when ctx was cancelled.
//
// The error is [reentrant.ErrBusy] only if fn was not called: an error of fn's about another lock is
// not. A loss that fn has returned already is not reported a second time.
func (l *MultiLock) Do(ctx context.Context, fn func(ctx context.Context) error) (err error) {
	hold, err := l.Acquire(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errs.Join(errs.Without(err, reentrant.ErrBusy), hold.Release(ctx)) }()
	return fn(hold.Context())
}
