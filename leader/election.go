package leader

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redlatch/redlatch/reentrant"
	"github.com/redlatch/redlatch/watchdog"
)

// ErrCampaigning: the Election campaigns or leads already.
var ErrCampaigning = errors.New("redlatch: campaigns or leads already")

// Election is one process' part in the election that a lock decides. It is safe for use by many goroutines.
type Election struct {
	lock *reentrant.Lock

	mu    sync.Mutex
	begun bool  // a campaign is under way, or there is a term; guarded by mu
	term  *Term // nil unless this process was elected and has not resigned; guarded by mu
}

// New returns an Election. The lock may be plain, fair, or the writing side of a read-write lock, and have a prefix, fencing,
// a limit and a fixed lease ([reentrant.Lock.With]). Nothing is sent.
func New(lock *reentrant.Lock) *Election { return &Election{lock: lock} }

// Campaign waits until this process leads, and returns the term. ctx is the term's as well: when it ends, so does the term's
// ctx, and Resign gives up the lock.
//
// The error is [ErrCampaigning] if a campaign is under way, or a term that is neither lost nor resigned. It is
// [reentrant.ErrInvalidOption] for the reading side of a lock, which would elect everybody. Otherwise it is the error of
// [reentrant.Lock.Acquire]. A term whose ctx has ended with [reentrant.ErrLost] is over: Campaign begins another one. IsLeader
// may be false a moment before that ctx ends.
func (e *Election) Campaign(ctx context.Context) (*Term, error) {
	if e.lock.Reads() {
		return nil, fmt.Errorf("%w: many have the reading side of %q, none leads by it", reentrant.ErrInvalidOption, e.lock.Name())
	}
	if !e.begin() {
		return nil, fmt.Errorf("%w: %q", ErrCampaigning, e.lock.Name())
	}
	var elected *Term
	defer func() { e.settle(elected) }() // also if a hook ends the goroutine
	// An owner of its own: a lock that the calling goroutine holds is no lead of this Election.
	hold, err := e.lock.Acquire(reentrant.WithNewOwner(ctx))
	if err != nil {
		return nil, err
	}
	elected = &Term{hold: hold}
	return elected, nil
}

// begin enters the campaign, and forgets a term that was lost.
func (e *Election) begin() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.term != nil && e.term.lost() {
		e.term, e.begun = nil, false
	}
	if e.begun {
		return false
	}
	e.begun = true
	return true
}

func (e *Election) settle(elected *Term) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.term, e.begun = elected, elected != nil
}

// IsLeader reports whether this process leads now. It asks nobody, and is false at the first look after the lease has passed.
// A true answer is as old as the time since: see the package's comment. After a false one it may be true again in the same term,
// if Redis had confirmed a renewal in time and this process was too busy to note it. The end of the term's ctx is final.
func (e *Election) IsLeader() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.term != nil && e.term.leads()
}

// Resign gives up the lead, and another process has it at once. It returns nil if this process does not lead. Otherwise the
// error is the one of [reentrant.Hold.Release]: [reentrant.ErrLost] if the lead was lost before, [reentrant.ErrUnconfirmed] if
// Redis did not answer; then the others have it when the lease ends. It does not wait for a Campaign that is under way: its
// ctx ends that.
func (e *Election) Resign(ctx context.Context) error {
	e.mu.Lock()
	term := e.term
	if term != nil {
		e.term, e.begun = nil, false
	}
	e.mu.Unlock()
	if term == nil {
		return nil
	}
	return term.hold.Release(ctx)
}

// Leader asks Redis who leads. ok is false if nobody does. The answer may be old by the time it is used, and the leader that it
// names may not know yet that it leads. The error is the one of [reentrant.Lock.Info].
func (e *Election) Leader(ctx context.Context) (leader reentrant.Party, ok bool, err error) {
	info, err := e.lock.Info(ctx)
	if err != nil {
		return reentrant.Party{}, false, err
	}
	return info.Holder, info.Held && !info.Kept, nil
}

// Term is the time for which a process leads.
type Term struct{ hold *reentrant.Hold }

// Context returns a ctx that ends with the term: with the cause [reentrant.ErrLost] when the lock was lost,
// [reentrant.ErrReleased] after Resign, and with the ctx that Campaign was called with.
func (t *Term) Context() context.Context { return t.hold.Context() }

// Token is the fencing token of the term, greater than the tokens of all terms before; 0 unless the lock has [reentrant.WithFencing].
func (t *Term) Token() int64 { return t.hold.Token() }

func (t *Term) leads() bool {
	return t.hold.Context().Err() == nil && !watchdog.Passed(t.hold.ValidUntil())
}

func (t *Term) lost() bool {
	select {
	case <-t.hold.Lost():
		return true
	default:
		return false
	}
}
