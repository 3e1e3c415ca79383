package reentrant

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	// How a command is repeated that was not answered, or that Redis could not
	// serve just then: what go-redis does by default, which it does not do here
	// because a repeated command must carry a number of its own.
	maxRetries  = 3
	minPause    = 8 * time.Millisecond
	maxPause    = 512 * time.Millisecond
	retryWithin = 2 * time.Second // no retry begins later, counted from the first try
)

// errInterrupted: the caller has stopped waiting for a command.
var errInterrupted = errors.New("interrupted")

// call runs f, which sends commands and settles their outcome, and waits for it
// until ctx ends, limit fires or, if closing is not nil, the Client closes; then it
// returns errInterrupted and f goes on in the background. A goroutine of its own is
// what lets a caller go: go-redis does not stop a command in flight. f gets ctx's
// values without its end.
//
// f runs code of the program's: go-redis' hooks, event functions. It may panic, or end its
// goroutine, so whatever it takes (the turn, the place at the head of the queue, a hold that it
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

// call is [Client.call] for commands about the queue, which stays in use until f has
// ended: a caller that left must not take the queue away under its command, or the
// next call would make another one, with a sequencer of its own.
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
