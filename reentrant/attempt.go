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
	overtaken bool        // the waiter does not lead any more
	err       error
}

// attempt tries once to take the lock for the first waiter. It runs to its end whether or not the call
// still waits, and gives back a lock that its call does not want any more.
func (s *lockState) attempt(ctx context.Context, w *waiter) attempt {
	t, ok := s.takeTurnUnless(w.gone)
	if !ok {
		return attempt{overtaken: true}
	}
	f, leads := s.prepare(t, w)
	if !leads {
		t.done()
		return attempt{overtaken: true}
	}
	return f.run(ctx)
}

// flight is one attempt, from the turn to its settled answer. It has the turn, and ends it.
type flight struct {
	s *lockState
	t turn
	w *waiter

	command lua.Acquire
	heard   bool // wake-ups would reach the Client
	sent    time.Time
	acks    replicaAcks
}

// registers reports whether the attempt puts the Client into the registry of waiters if the lock is busy.
func (f *flight) registers() bool { return f.command.Register > 0 }

// prepare makes the command of an attempt, with the turn. It reports false, and has done nothing, if w does not lead
// any more.
func (s *lockState) prepare(t turn, w *waiter) (f *flight, leads bool) {
	heard, command, leads := s.beginAttempt(w)
	if !leads {
		return nil, false
	}
	f = &flight{s: s, t: t, w: w, command: command, heard: heard}
	f.command.Order = t.order()
	f.acks = replicaAcks{c: s.c, key: s.keys.Lock}
	f.sent = time.Now()
	if f.registers() {
		f.command.Nonce, f.command.Claim = t.expectGrant(w, f.sent)
	}
	return f, true
}

// run sends the command and settles its answer.
func (f *flight) run(ctx context.Context) attempt {
	returned := false
	defer func() {
		if !returned {
			f.aborted()
		}
	}()
	by := lua.Processor(&f.acks)
	if f.command.Joins {
		by = f.s.c.commands
	}
	answer, err := f.s.kind.acquire(ctx, by, &f.s.keys, f.command)
	returned = true
	return f.land(ctx, answer, err)
}

// land settles the answer, and gives back a lock that no call wants.
func (f *flight) land(ctx context.Context, answer lua.Granted, err error) attempt {
	s, t := f.s, f.t
	got, unwanted := f.settle(answer, err)
	if unwanted != nil {
		_ = s.releaseInTurn(ctx, t, unwanted) // after an error a clean-up goes on
		return got
	}
	if got.err != nil {
		got.err = s.explain(ctx, got.err)
	}
	t.done()
	if o := got.hold; o != nil && !s.c.mute {
		// Without the turn: a slow event function must not hold up the lock's commands.
		o.announce(f.w.number, func() {
			e := o.got(f.w, time.Since(f.w.Began))
			e.How = f.w.how()
			s.c.acquired(e)
		})
	}
	return got
}

// settle makes the waiter the holder, or notes why it is not. unwanted is an ownership that Redis has granted and that
// the caller must release.
func (f *flight) settle(answer lua.Granted, err error) (got attempt, unwanted *ownership) {
	if err == nil && answer.Verdict == lua.Stale {
		err = errStale
	}
	f.t.settle(f.command.Order, err)
	f.s.disprove(f.w, err == nil && answer.Verdict == lua.Done)
	return f.settleAttempt(answer, err)
}

// aborted settles an attempt whose goroutine ended during the command, in a hook of go-redis.
func (f *flight) aborted() {
	defer f.t.done()
	f.t.settle(f.command.Order, errAborted)
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	f.s.state.AttemptFailed(&f.w.Waiter, lua.Unknown(errAborted), f.registers(), time.Now())
	f.s.settleInLine(f.w, f.command.InLine, errAborted)
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
		Owner: w.Field(), Lease: w.Lease, Client: s.c.id, Since: s.state.Arrival(), Fencing: w.Fencing,
		AfterRedisson: s.afterRedisson.Load(), Departed: s.state.Grantees(w.Field()),
		ReadersFirst: w.readersFirst,
	}
	if s.state.Joins(&w.Waiter) {
		command.Joins, command.Wake = true, s.c.wakeUp()
	}
	heard = s.listening()
	if heard && !s.kind.lines {
		command.Register = registryTTL
	}
	command.InLine = s.attemptInLine(w, heard)
	return heard, command, true
}

// settleAttempt makes the waiter the holder, or notes why it is not. unwanted is an ownership that Redis
// has granted and that the caller must release.
func (f *flight) settleAttempt(answer lua.Granted, err error) (got attempt, unwanted *ownership) {
	s, w := f.s, f.w
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		s.state.AttemptFailed(&w.Waiter, lua.Unknown(err), f.registers(), time.Now())
		s.settleInLine(w, f.command.InLine, err)
		return attempt{err: err}, nil
	case answer.Verdict == lua.Busy:
		if f.registers() {
			s.sequencer.registrations++
		}
		s.state.FoundBusy(&w.Waiter, f.registers(), answer.Since)
		s.settleInLine(w, f.command.InLine, nil)
		return attempt{answer: answer, heard: f.heard}, nil
	case answer.Verdict == lua.NotHeld:
		s.state.NoSharedLease(&w.Waiter, time.Now())
		return attempt{overtaken: true}, nil
	}
	g := lockstate.Grant{Token: answer.Token, Sent: f.sent, Late: s.c.renewalsMayBeLate(), Redisson: answer.RedissonWaiters > 0}
	if !s.state.Joins(&w.Waiter) { // the replicas were asked at the grant of the lease that it joins
		g.Missing = f.acks.missing(s.name)
	}
	of, refusal := s.state.Granted(&w.Waiter, g, time.Now())
	var o *ownership
	if of != nil {
		o = ownershipOf(of)
	}
	switch refusal {
	case lockstate.Accepted:
	case lockstate.Again:
		return attempt{overtaken: true}, nil
	default:
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

// explain gives an error of Redis the form in which callers see it.
func (s *lockState) explain(ctx context.Context, err error) error {
	if lua.ForeignKey(err) {
		return s.c.foreign(ctx, s.name, s.keys.Lock, err)
	}
	return err
}
