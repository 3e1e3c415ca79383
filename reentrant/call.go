package reentrant

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	// The pauses before a command is repeated that was not answered, or that Redis could not serve just
	// then. How often that is done says lockstate.MaxRetries. These are go-redis' defaults. go-redis itself
	// must not repeat it: each repetition needs a number of its own.
	minPause = 8 * time.Millisecond
	maxPause = 512 * time.Millisecond
)

// errInterrupted: the caller has stopped waiting for a command.
var errInterrupted = errors.New("interrupted")

// call runs f, which sends commands and settles their outcome. It waits for f until ctx ends, limit fires
// or, if closing is not nil, the Client closes. Then it returns errInterrupted, and f goes on in the
// background: go-redis does not stop a command in flight, so f needs a goroutine of its own if the caller
// is to leave. f gets ctx's values without its end.
//
// f runs code of the program: go-redis' hooks and event functions. Such code may panic or end its
// goroutine. So f gives up in deferred functions whatever it takes: the turn, the lead of the wait queue,
// a hold that it is about to release. With a ctx that never ends and no limit, f runs on the caller's
// goroutine, and a panic goes to the caller. Otherwise a panic ends the program; after runtime.Goexit the
// error is errAborted.
func (c *Client) call(ctx context.Context, limit <-chan time.Time, closing <-chan struct{}, f func(context.Context)) error {
	if !c.begin() {
		return ErrClosed
	}
	return c.callBegun(ctx, limit, closing, f)
}

// callBegun is call for a caller that has announced f to Close by begin.
func (c *Client) callBegun(ctx context.Context, limit <-chan time.Time, closing <-chan struct{}, f func(context.Context)) error {
	if ctx.Done() == nil && limit == nil {
		defer c.end()
		f(ctx)
		return nil
	}
	done, returned := make(chan struct{}), false
	c.workers.Run(func() { // Close waits for it
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

// call is [Client.call] for an f that has a result. It returns the zero T with an error: a caller that
// has left shares no variable with f, which may still write its own.
func call[T any](ctx context.Context, c *Client, closing <-chan struct{}, f func(context.Context) T) (T, error) {
	var result T
	if err := c.call(ctx, nil, closing, func(ctx context.Context) { result = f(ctx) }); err != nil {
		var none T
		return none, err
	}
	return result, nil
}

// response is what Redis has answered, or why it has not. It keeps that error apart from those of call.
type response[T any] struct {
	value T
	err   error
}

// call is [Client.call] for commands about the lock. The lock state stays in use until f has ended.
// Otherwise a caller that leaves could be its last user while f still runs. Then the next call would make
// another lock state, with a sequencer of its own.
func (s *lockState) call(ctx context.Context, limit <-chan time.Time, closing <-chan struct{}, f func(context.Context)) error {
	if !s.beginCall() {
		return ErrClosed
	}
	return s.callBegun(ctx, limit, closing, f)
}

// callBegun is call for a caller that has announced f by beginCall.
func (s *lockState) callBegun(ctx context.Context, limit <-chan time.Time, closing <-chan struct{}, f func(context.Context)) error {
	return s.c.callBegun(ctx, limit, closing, func(ctx context.Context) {
		defer s.dropUser()
		f(ctx)
	})
}

// beginCall announces a command of a call to Close, and keeps the lock state in use. It reports false once the
// Client is closed. endCall takes it back.
func (s *lockState) beginCall() bool {
	if !s.c.begin() {
		return false
	}
	s.addUser()
	return true
}

func (s *lockState) endCall() {
	s.dropUser()
	s.c.end()
}

// goBackground is [Client.goBackground] for commands about the lock. The caller has lockState.mu or is a
// user of the lock state.
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

// endless returns a ctx with ctx's values that never ends.
func endless(ctx context.Context) context.Context {
	if ctx.Done() == nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// goBackground runs f on a goroutine that Close waits for. Once the Client is closed it reports false and
// does not run f: what f would have cleaned up expires with its lease.
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

// pause waits for d. It reports false if the Client was closed meanwhile.
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

// pauseOpen is pause, and ends when the Client begins to close.
func (c *Client) pauseOpen(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.closing:
	}
}

// backoff is the pause before the next try: exponential up to maxPause, with jitter over its upper half.
func backoff(try int) time.Duration {
	d := min(minPause<<min(try, 10), maxPause)
	return d/2 + rand.N(d/2+1)
}

// take fills a place in a channel that counts, and reports false if ctx ends first.
func take(ctx context.Context, places chan<- struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}
