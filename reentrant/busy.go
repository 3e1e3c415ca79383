package reentrant

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A lock is busy if Redis said so last, or if one of this Client's own owners has it. TryLock's false
// means that. A limit and the deadline of ctx end a wait alike: both say "not for longer". A cancellation
// says that the caller has stopped asking, and nothing of the lock.

// saysBusy reports whether, by the last answer, another owner has the lock or is ahead.
func (a *acquisition) saysBusy() bool {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	return a.s.state.SaysBusy(&a.w.Waiter, time.Now())
}

// ctxEnded ends the wait of a call whose ctx has ended.
func (a *acquisition) ctxEnded() (*ownership, error) {
	a.busyAtDeadline = byDeadline(a.ctx) && a.saysBusy()
	return a.giveUp(whyEnded(a.ctx))
}

// deadlineEnd is the cause of a ctx that the library cancels in place of a ctx whose deadline has passed.
// Only the cause itself counts: a cause that wraps it is the program's own.
type deadlineEnd struct{ error }

// endOf is the cause for a ctx that stands for the given one, which has ended.
func endOf(ctx context.Context) error {
	if byDeadline(ctx) {
		return deadlineEnd{whyEnded(ctx)}
	}
	return whyEnded(ctx)
}

// byDeadline reports whether a deadline has ended ctx, and not a cancellation, of whatever cause.
func byDeadline(ctx context.Context) bool {
	_, stands := context.Cause(ctx).(deadlineEnd)
	return stands || errors.Is(ctx.Err(), context.DeadlineExceeded)
}

// busy is the text of an error that is [ErrBusy], without its cause.
func (e *NotAcquiredError) busy() string {
	s := fmt.Sprintf("redlatch: lock %q is busy", e.Name)
	if waited := e.Waited.Round(time.Millisecond); waited > 0 {
		s += fmt.Sprintf(" after %v", waited)
	}
	if e.Holder == "" {
		return s + ": another owner has it, or another call is ahead"
	}
	return s + ": held by " + e.holder()
}

// holder says who holds the lock. For an owner of the same Client it says so in words: then the program
// may be waiting for itself.
func (e *NotAcquiredError) holder() string {
	if _, kept := partyOf(e.Holder); kept {
		return e.Holder + " (nobody: ReleaseAfter keeps it taken)"
	}
	switch {
	case e.client != "" && strings.HasPrefix(e.Holder, e.client+":"):
	case e.HolderName != "":
		return fmt.Sprintf("%s (%s)", e.Holder, e.HolderName)
	default:
		return e.Holder
	}
	return fmt.Sprintf("%s (%s of this Client)", e.Holder, ownerWords(e.Holder))
}
