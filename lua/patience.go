package lua

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// maxStrays bounds the commands that a patient Processor has left behind. Each has a goroutine and a
// connection.
const maxStrays = 64

// ErrNoReply is the error of a command that was sent and not answered in time.
var ErrNoReply = errors.New("no reply in time")

// Patient makes a Processor that sends through p and waits for the reply to a script no longer than
// within. It is for a p that may wait for ever. A command that has not returned by then is left
// behind: go-redis does not stop a command in flight. Its goroutine ends with its connection, at the
// latest when the client is closed. While 64 are left behind, nothing more is sent and the error is
// [redis.ErrPoolExhausted].
func Patient(p Processor, within time.Duration) Processor {
	return &patient{p: p, within: within}
}

type patient struct {
	p      Processor
	within time.Duration
	strays atomic.Int32
}

// Process implements [Processor]. It sends a copy of the command: a command that is left behind may
// still be answered, and the caller reads its own command by then.
func (p *patient) Process(ctx context.Context, cmd redis.Cmder) error {
	own, ok := cmd.(*onceOnly)
	if !ok {
		return p.p.Process(ctx, cmd)
	}
	if p.strays.Load() >= maxStrays {
		own.SetErr(fmt.Errorf("%w: %d commands are not answered", redis.ErrPoolExhausted, maxStrays))
		return own.Err()
	}
	sent := redis.NewCmd(ctx, own.Args()...)
	sent.SetFirstKeyPos(3)
	const under, back, left = 0, 1, 2
	var state atomic.Int32
	done := make(chan any, 1) // holds the value of a panic in p, or nil
	go func() {               // ends with the command
		defer func() {
			v := recover()
			if !state.CompareAndSwap(under, back) {
				p.strays.Add(-1)
				return // the caller has left: no goroutine could get the panic
			}
			done <- v
		}()
		_ = p.p.Process(ctx, &onceOnly{Cmd: sent}) // the error is in the command too
	}()
	timer := time.NewTimer(p.within)
	defer timer.Stop()
	select {
	case v := <-done:
		return own.take(sent, v)
	case <-timer.C:
	}
	p.strays.Add(1)
	if !state.CompareAndSwap(under, left) {
		p.strays.Add(-1)
		return own.take(sent, <-done)
	}
	own.SetErr(ErrNoReply)
	return ErrNoReply
}

// take copies the outcome of the command that was sent, or repeats its panic.
func (c *onceOnly) take(sent *redis.Cmd, panicked any) error {
	if panicked != nil {
		panic(panicked)
	}
	c.SetVal(sent.Val())
	c.SetErr(sent.Err())
	return c.Err()
}
