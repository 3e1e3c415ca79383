package reentrant

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/lockstate"
)

// giveUp ends the wait of a call: because of err, or at the limit of the wait if err is nil. The lock may
// have been granted at this very moment. A call that reached its limit keeps that lock, unless the Client
// closes; any other call gives it back.
func (a *acquisition) giveUp(err error) (*ownership, error) {
	s, w := a.s, a.w
	s.mu.Lock()
	switch w.State() {
	case lockstate.Granted:
		o := ownershipOf(w.Ownership())
		a.busyAtDeadline = false
		if err == nil || a.ctx.Err() == nil && !s.c.isClosing() {
			s.mu.Unlock()
			return o, nil
		}
		if w.HandedBy() != nil {
			s.mu.Unlock()
			s.c.granted(w)
			s.mu.Lock()
		}
		closed := s.giveBack(context.WithoutCancel(a.ctx), o, w.HoldKind)
		s.mu.Unlock()
		if closed {
			o.tellClosed()
		}
	case lockstate.Rejoined:
		a.busyAtDeadline = false // another call of this owner has the lock
		s.mu.Unlock()
	case lockstate.Refused:
		a.busyAtDeadline = false
		if err == nil {
			err = w.Refusal() // refused at this very moment: Redis was silent
		}
		s.mu.Unlock()
	default:
		s.leaveQueue(w)
		s.mu.Unlock()
	}
	return nil, a.notAcquired(err)
}

// leaveQueue takes a waiter out of the wait queue. Its call ends without the lock. The caller has
// lockState.mu.
func (s *lockState) leaveQueue(w *waiter) {
	s.state.Leave(&w.Waiter, time.Now())
	if w.gone != nil {
		close(w.gone)
	}
}

// leaveAborted takes out a waiter whose call does not return: a hook of go-redis or an event function has
// panicked or ended the goroutine. Otherwise the waiters behind it would wait for ever, or it would keep
// a lock that no call releases.
func (s *lockState) leaveAborted(ctx context.Context, w *waiter) {
	s.mu.Lock()
	switch w.State() {
	case lockstate.Granted:
		if w.HandedBy() != nil && !w.handOffTold {
			defer s.c.granted(w)
		}
		o := ownershipOf(w.Ownership())
		closed := s.giveBack(context.WithoutCancel(ctx), o, w.HoldKind)
		s.mu.Unlock()
		if closed {
			o.tellClosed()
		}
		return
	case lockstate.Queued, lockstate.Leading:
		s.leaveQueue(w)
	}
	s.mu.Unlock()
}

// giveBack takes back, in the background, the hold of a call that left at the moment of its grant.
// Another call of the same owner may have entered since; its hold stays. giveBack reports true if the
// Client is closed and giveBack has ended the ownership: then the caller tells that, without
// lockState.mu, which it has now.
func (s *lockState) giveBack(ctx context.Context, o *ownership, kind lockstate.HoldKind) (closed bool) {
	send, last := s.state.GiveBack(&o.Ownership, kind, time.Now())
	if !send {
		if o.Reader() && o.err == ErrReleased {
			s.goBackground(func() { o.left(ctx) }) // a closed Client tells nothing
		}
		return false
	}
	if last {
		o.leaves(ctx)
	}
	begun := s.goBackground(func() {
		if last {
			s.release(ctx, o.sent())
		} else {
			s.sendCount(ctx, o)
		}
	})
	if !begun && last {
		s.state.EndClosed(&o.sent().Ownership, time.Now())
	}
	return !begun && last
}

// notAcquired is the error of a call whose wait ended with err, or at its limit if err is nil.
func (a *acquisition) notAcquired(err error) error {
	return &NotAcquiredError{
		Name: a.s.name, Holder: a.lastAnswer.Holder, TTL: a.lastAnswer.TTL,
		Waited: time.Since(a.w.Began), Busy: err == nil || a.busyAtDeadline, Err: err, client: a.s.c.id,
	}
}
