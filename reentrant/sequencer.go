package reentrant

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/internal/lockstate"
	"github.com/redlatch/redlatch/lua"
)

const (
	// epochTTL is how long an epoch stays in Redis, and so voids a command that was sent and not
	// answered. A stopped server executes the requests in its buffers when it goes on; the epoch's TTL
	// has only just begun then.
	epochTTL = time.Minute

	// inheritFor is how long new lock states begin with an epoch after one was dropped with a command
	// unanswered. It is longer than a server is stopped as a rule.
	inheritFor = 10 * time.Minute
)

// errAborted stands for the answer to a command whose goroutine was ended while it was under way, by a panic
// or runtime.Goexit in a hook of go-redis or in an event function: the outcome is unknown.
var errAborted = lua.ErrAborted

// errSuperseded: there is no reason any more to send the command.
var errSuperseded = errors.New("superseded")

// sequencer lets the commands that change one lock out one at a time. So they run in the order of
// their numbers, and the caller settles an answer before the next command builds on it.
//
// A command that was sent and not answered has an unknown outcome: it may have run, or may run later.
// The next command sets an epoch, which voids it.
type sequencer struct {
	taken chan struct{} // capacity 1: full while a goroutine has the turn

	// Written with the turn only.
	unknown   bool // a command was sent and not answered, and no epoch set since
	inherited bool // unknown is from an earlier state of the same lock (Client.dropState)

	registrations uint8 // attempts that have registered the Client (grant.go)

	// expected is the grant that the last command has asked for; nil: none. It is set with the turn only.
	expected atomic.Pointer[expectedGrant]
}

// turn is the right to have a command about one lock in flight. There is one for each lock state. It is a
// value: a function that sends takes it as a parameter, and a goroutine can be given it. done ends it,
// once.
type turn struct{ s *lockState }

// takeTurn waits for the turn. The commands before it end by themselves, after go-redis' ReadTimeout.
func (s *lockState) takeTurn() turn {
	s.sequencer.taken <- struct{}{}
	return turn{s}
}

// takeTurnUnless is takeTurn, but reports false if gone is closed first. If both are ready, it may do
// either.
func (s *lockState) takeTurnUnless(gone <-chan struct{}) (t turn, ok bool) {
	select {
	case s.sequencer.taken <- struct{}{}:
		return turn{s}, true
	case <-gone:
		return turn{}, false
	}
}

// tryTurn is takeTurn, but reports false if another goroutine has the turn.
func (s *lockState) tryTurn() (t turn, ok bool) {
	select {
	case s.sequencer.taken <- struct{}{}:
		return turn{s}, true
	default:
		return turn{}, false
	}
}

func (t turn) done() { <-t.s.sequencer.taken }

// send is repeat with as many retries as go-redis makes by default.
func (t turn) send(run func(lua.Order) (lua.Verdict, error)) (v lua.Verdict, before bool, err error) {
	return t.repeat(lockstate.MaxRetries, run)
}

// repeat sends a command until Redis gives an answer that is final, or run returns errSuperseded
// without having sent one; then it returns no error and no verdict. before is true if an earlier try was
// sent and not answered: the answer may be to the second run of the command.
func (t turn) repeat(most int, run func(lua.Order) (lua.Verdict, error)) (v lua.Verdict, before bool, err error) {
	began := time.Now()
	t.begin()
	defer t.end()
	for try := 0; ; try++ {
		v, err = t.once(run)
		if errors.Is(err, errSuperseded) {
			return 0, before, nil // Redis was told nothing: an unknown outcome stays so
		}
		before = before || lua.Unknown(err)
		if err == nil || !lua.Retryable(err) || try == most || time.Since(began) > lockstate.RetryWithin {
			return v, before, err
		}
		if !t.s.c.pause(backoff(try)) {
			return v, before, err
		}
	}
}

// once sends a command and settles what its answer says of it, also if run does not return.
func (t turn) once(run func(lua.Order) (lua.Verdict, error)) (v lua.Verdict, err error) {
	order := t.order()
	err = errAborted
	defer func() {
		if err == nil && v == lua.Stale {
			err = errStale
		}
		if !errors.Is(err, errSuperseded) {
			t.settle(order, err)
		}
	}()
	return run(order)
}

// order numbers a command that is about to be sent. The command may take back what a release has granted
// meanwhile, so no grant is expected any more (grant.go).
func (t turn) order() lua.Order {
	t.s.sequencer.expected.Store(nil)
	o := lua.Order{Number: t.s.c.number.Add(1)}
	if t.s.sequencer.unknown {
		o.Epoch = epochTTL
	}
	return o
}

// settle notes what an answer, or its absence, says of the commands sent so far.
func (t turn) settle(order lua.Order, err error) {
	t.note(err)
	q := &t.s.sequencer
	switch {
	case lua.Unknown(err):
		q.unknown, q.inherited = true, false
	case err == nil && order.Epoch > 0:
		q.unknown, q.inherited = false, false
	}
}

// epochNotSet has the next command set the epoch: Redis, being full, has run this one without.
func (t turn) epochNotSet() { t.s.sequencer.unknown = true }

// begin and end note when a command, its repetitions included, is under way. A waiter whose limit ends
// meanwhile looks at that.
func (t turn) begin() {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.s.state.CommandBegun(time.Now())
}

func (t turn) end() {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.s.state.CommandEnded()
}

// note tells the lock state how a try ended.
func (t turn) note(err error) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.s.state.CommandTried(err == nil)
}

// inTurn repeats a command in the background until it is done or its time is over. The caller has
// lockState.mu or is a user of the lock state.
func (s *lockState) inTurn(until time.Time, command func(context.Context, turn) (done bool)) {
	s.c.cleanups.add(&cleanup{s: s, at: time.Now(), until: until, try: func(ctx context.Context) (done bool) {
		t, ok := s.takeTurnUnless(ctx.Done())
		if !ok {
			return true
		}
		defer t.done()
		return ctx.Err() != nil || command(ctx, t) // both may have been ready
	}})
}
