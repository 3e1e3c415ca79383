package reentrant

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/redlatch/redlatch/lua"
)

const (
	// How a command is repeated that was not answered, or that Redis could not
	// serve just then: what go-redis does by default, which it does not do here
	// because a repeated command must carry a number of its own.
	maxRetries  = 3
	minPause    = 8 * time.Millisecond
	maxPause    = 512 * time.Millisecond
	retryWithin = 2 * time.Second // no retry begins later, counted from the first try

	// epochTTL is how long a command that was sent and not answered is kept from
	// taking effect. Requests that wait in a stopped server's buffers are executed
	// when it goes on, and then the epoch's TTL has only just begun.
	epochTTL = time.Minute

	// doubtTTL is how long commands begin with an epoch after a queue was dropped
	// with a command unanswered: longer than a server is stopped as a rule.
	doubtTTL = 10 * time.Minute
)

// errAborted stands for the answer to a command whose goroutine was ended while it was under way, by a panic
// or runtime.Goexit in a hook of go-redis or in an event function: the outcome is unknown.
var errAborted = lua.ErrAborted

// errInterrupted: the caller has stopped waiting for a command.
var errInterrupted = errors.New("interrupted")

// errSuperseded: there is no reason any more to send the command.
var errSuperseded = errors.New("moot")

// call runs f, which sends commands and settles their outcome, and waits for it
// until ctx ends, limit fires or, if closing is not nil, the Client closes; then it
// returns errInterrupted and f goes on in the background. A goroutine of its own is
// what lets a caller go: go-redis does not stop a command in flight. f gets ctx's
// values without its end.
//
// f runs code of the program's: go-redis' hooks, event functions. It may panic, or end its
// goroutine, so whatever it takes (the wire, the place at the head of the queue, a hold that it
// is about to release) it gives up in deferred functions. With a ctx that never ends and no limit it runs on
// the caller's goroutine, and the panic is the caller's. Otherwise it ends the program;
// after runtime.Goexit the error is errAborted.
func (c *Client) call(ctx context.Context, limit <-chan time.Time, closing <-chan struct{}, f func(context.Context)) error {
	if !c.begin() {
		return ErrClosed
	}
	if ctx.Done() == nil && limit == nil {
		defer c.end()
		f(ctx)
		return nil
	}
	done, returned := make(chan struct{}), false
	c.workers.run(func() { // Close waits for it
		defer c.end()
		defer close(done)
		f(endless(ctx))
		returned = true
	})
	select {
	case <-done:
		if !returned {
			return errAborted
		}
		return nil
	case <-ctx.Done():
	case <-limit:
	case <-closing:
	}
	return errInterrupted
}

// call is [Client.call] for commands about the queue, which stays in use until f has
// ended: a caller that left must not take the queue away under its command, or the
// next call would make another one, with a wire of its own.
func (s *lockState) call(ctx context.Context, limit <-chan time.Time, closing <-chan struct{}, f func(context.Context)) error {
	s.addUser()
	err := s.c.call(ctx, limit, closing, func(ctx context.Context) {
		defer s.dropUser()
		f(ctx)
	})
	if errors.Is(err, ErrClosed) { // f was not run
		s.dropUser()
	}
	return err
}

// goBackground is [Client.goBackground] for commands about the queue. The caller has
// lockState.mu or is a user of the queue.
func (s *lockState) goBackground(f func()) bool {
	s.addUser()
	begun := s.c.goBackground(func() {
		defer s.dropUser()
		f()
	})
	if !begun {
		s.dropUser()
	}
	return begun
}

// endless has ctx's values without its end.
func endless(ctx context.Context) context.Context {
	if ctx.Done() == nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// goBackground runs f on a goroutine that Close waits for. Once the Client is
// closed it reports false: what f would have cleaned up expires with its lease.
func (c *Client) goBackground(f func()) bool {
	if !c.begin() {
		return false
	}
	go func() { // ends with f; Close waits for it
		defer c.end()
		f()
	}()
	return true
}

// sendRepeated repeats a command until Redis gives an answer that is final, or run returns
// errSuperseded without having sent one; then it returns no error and no verdict. doubted is true
// if it was sent before without an answer, so that the answer may be to the second
// run. The caller has the wire.
func (s *lockState) sendRepeated(run func(lua.Order) (lua.Granted, error)) (g lua.Granted, doubted bool, err error) {
	return s.repeat(maxRetries, run)
}

// sendUnrepeated is send for a call with wait 0.
func (s *lockState) sendUnrepeated(run func(lua.Order) (lua.Granted, error)) (g lua.Granted, doubted bool, err error) {
	return s.repeat(0, run)
}

func (s *lockState) repeat(most int, run func(lua.Order) (lua.Granted, error)) (g lua.Granted, doubted bool, err error) {
	began := time.Now()
	s.sending()
	defer s.sent()
	for try := 0; ; try++ {
		g, err = s.sendOnce(run)
		if errors.Is(err, errSuperseded) {
			return lua.Granted{}, doubted, nil // Redis was told nothing: what is in doubt stays so
		}
		doubted = doubted || lua.Unknown(err)
		if err == nil || !lua.Retryable(err) || try == most || time.Since(began) > retryWithin {
			return g, doubted, err
		}
		if !s.c.pause(backoff(try)) {
			return g, doubted, err
		}
	}
}

// sendOnce sends a command and settles what its answer says of it, also if run does not return.
func (s *lockState) sendOnce(run func(lua.Order) (lua.Granted, error)) (g lua.Granted, err error) {
	order := s.order()
	err = errAborted
	defer func() {
		if err == nil && g.Verdict == lua.Stale {
			err = errStale
		}
		if !errors.Is(err, errSuperseded) {
			s.settle(order, err)
		}
	}()
	return run(order)
}

// order numbers a command that is about to be sent. The caller has the wire, so
// that commands about one lock leave in the order of their numbers.
func (s *lockState) order() lua.Order {
	order := lua.Order{Number: s.c.number.Add(1)}
	if s.doubt {
		order.Epoch = epochTTL
	}
	return order
}

// sending and sent tell those whose limit ends meanwhile since when a command is under way, its
// repetitions included. The caller has the wire.
func (s *lockState) sending() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = time.Now()
}

func (s *lockState) sent() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = time.Time{}
}

// note keeps since when Redis has refused what it was asked, or not answered. The caller has the wire.
func (s *lockState) note(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.failing = time.Time{}
	case s.failing.IsZero():
		s.failing = s.asked
	}
}

// settle notes what an answer, or its absence, says of the commands sent so far.
// The caller has the wire.
func (s *lockState) settle(order lua.Order, err error) {
	s.note(err)
	switch {
	case lua.Unknown(err):
		s.doubt, s.older = true, false
	case err == nil && order.Epoch > 0:
		s.doubt, s.older = false, false
	}
}

// pause reports false if the Client was closed meanwhile.
func (c *Client) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.ctx.Done():
		return false
	}
}

// pauseOpen is pause, cut short when the Client begins to close.
func (c *Client) pauseOpen(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.closing:
	}
}

// backoff is capped exponential with jitter over its upper half.
func backoff(try int) time.Duration {
	d := min(minPause<<min(try, 10), maxPause)
	return d/2 + rand.N(d/2+1)
}
