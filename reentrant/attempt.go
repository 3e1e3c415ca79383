package reentrant

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/lockstate"
	"github.com/redlatch/redlatch/lua"
)

// registryTTL is how long Redis keeps a Client in the registry of waiters. Each poll renews it. It is as
// long as several polls, so Redis forgets only Clients that are gone.
const registryTTL = time.Minute

// attempt is the result of one try for the lock.
type attempt struct {
	hold      *ownership  // granted
	answer    lua.Granted // busy
	heard     bool        // the Client was registered, and wake-ups would reach it
	overtaken bool        // another goroutine has ended the waiter's lead meanwhile
	err       error
}

// attempt tries once to take the lock for the first waiter. It runs to its end whether or not the call
// still waits, and gives back a lock that its call does not want any more.
func (s *lockState) attempt(ctx context.Context, w *waiter) attempt {
	t, ok := s.takeTurnUnless(w.gone)
	if !ok {
		return attempt{overtaken: true}
	}
	got, unwanted := s.attemptInTurn(ctx, t, w)
	switch {
	case unwanted != nil:
		_ = s.releaseInTurn(ctx, t, unwanted) // after an error a clean-up goes on
	case got.hold != nil && !s.c.mute:
		// Without the turn: a slow event function must not hold up the lock's commands.
		o := got.hold
		o.announce(func() {
			s.c.acquired(Event{Ctx: w.ctx, Name: s.name, Owner: o.Owner(), Token: o.Token(), Waited: time.Since(w.Began)})
		})
	}
	return got
}

// attemptInTurn sends the command and settles its answer. It ends the turn, with one exception: if it
// returns an ownership that Redis has granted and no call wants, the caller releases that with the turn.
func (s *lockState) attemptInTurn(ctx context.Context, t turn, w *waiter) (got attempt, unwanted *ownership) {
	defer func() {
		if unwanted == nil {
			t.done()
		}
	}()
	heard, command, leads := s.beginAttempt(w)
	if !leads {
		return attempt{overtaken: true}, nil
	}
	order := t.order()
	command.Order = order
	acks := s.c.replicaAcks(s.keys.Lock)
	sent := time.Now()
	if heard {
		command.Nonce, command.Claim = t.expectGrant(w, sent)
	}
	returned := false
	defer func() {
		if !returned {
			s.attemptAborted(t, w, order, heard)
		}
	}()
	answer, err := s.kind.acquire(ctx, acks, &s.keys, command)
	returned = true
	if err == nil && answer.Verdict == lua.Stale {
		err = errStale
	}
	t.settle(order, err)
	got, unwanted = s.settleAttempt(w, answer, err, heard, sent, acks)
	if got.err != nil && unwanted == nil {
		got.err = s.explain(ctx, got.err)
	}
	return got, unwanted
}

// beginAttempt reports whether w still leads, and makes its command. Otherwise it does not begin. heard says
// that wake-ups would reach the Client, so that it may register.
func (s *lockState) beginAttempt(w *waiter) (heard bool, command lua.Acquire, leads bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.state.BeginAttempt(&w.Waiter, time.Now()) {
		return false, command, false
	}
	s.resumeListening()
	if s.wakeups != nil {
		s.wakeups.drain() // this attempt comes after these wake-ups
	}
	command = lua.Acquire{
		Owner: w.Owner, Lease: w.Lease, Client: s.c.id, Since: s.state.Arrival(), Fencing: w.Fencing,
		AfterRedisson: s.afterRedisson.Load(), Departed: s.state.Grantees(w.Owner),
	}
	if heard = s.listening(); heard {
		command.Register = registryTTL
	}
	return heard, command, true
}

// settleAttempt makes the waiter the holder, or notes why it is not. unwanted is an ownership that Redis
// has granted and that the caller must release.
func (s *lockState) settleAttempt(w *waiter, answer lua.Granted, err error, heard bool, sent time.Time, acks *replicaAcks) (got attempt, unwanted *ownership) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		s.state.AttemptFailed(&w.Waiter, lua.Unknown(err), heard, time.Now())
		return attempt{err: err}, nil
	case answer.Verdict == lua.Busy:
		if heard {
			s.sequencer.registrations++
		}
		s.state.FoundBusy(&w.Waiter, heard, answer.Since)
		return attempt{answer: answer, heard: heard}, nil
	}
	g := lockstate.Grant{Token: answer.Token, Sent: sent, Late: s.c.renewalsMayBeLate(), Missing: acks.missing(s.name)}
	of, refusal := s.state.Granted(&w.Waiter, g, time.Now())
	o := ownershipOf(of)
	if refusal != lockstate.Accepted {
		return attempt{err: refusalError(refusal, g.Missing)}, o
	}
	s.c.counters.acquired.Add(1)
	return attempt{hold: o}, nil
}

// refusalError says why this Client gives back a lock that Redis has just granted.
func refusalError(why lockstate.Refusal, missing error) error {
	switch why {
	case lockstate.CallLeft:
		return errInterrupted
	case lockstate.Closing:
		return ErrClosed
	case lockstate.FewReplicas:
		return missing
	case lockstate.TooLate:
		return errTooLate
	}
	return nil
}

// attemptAborted settles an attempt whose goroutine ended during the command, in a hook of go-redis.
func (s *lockState) attemptAborted(t turn, w *waiter, order lua.Order, heard bool) {
	t.settle(order, errAborted)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.AttemptFailed(&w.Waiter, lua.Unknown(errAborted), heard, time.Now())
}

// explain gives an error of Redis the form in which callers see it.
func (s *lockState) explain(ctx context.Context, err error) error {
	if lua.ForeignKey(err) {
		return s.c.foreign(ctx, s.name, s.keys.Lock, err)
	}
	return err
}
