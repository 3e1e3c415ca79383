package redisio

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// combineAbove is how many commands or batches of a Combiner are in flight at a time. For so many
	// goroutines pipelines are no faster than single commands: they would only wait for each other.
	combineAbove = 4

	// maxBatch bounds how many replies a command waits for.
	maxBatch = 128

	// maxWait bounds how long a command waits for others to return: these may be on connections that
	// are dead and not known to be.
	maxWait = 20 * time.Millisecond
)

// Combiner is a [Processor] that sends the commands of many goroutines in pipelines. While less than
// combineAbove are in flight, a command goes alone, as without a Combiner. Otherwise it waits until
// one of these returns, but not longer than maxWait, and goes together with all that wait by then. A
// Combiner has no goroutines: the caller that brought the first command of a batch sends the batch, or
// has another goroutine send it (Launch).
//
// Each command has an outcome of its own, which tells as much as the outcome of one that went alone.
// Commands must not be such that go-redis sends them again ([redis.Cmder] NoRetry).
type Combiner struct {
	client Pipelined

	mu      sync.Mutex
	sending int      // commands and batches that have their turn; guarded by mu
	waiting []*batch // without a turn, oldest first; only the last one is not full; guarded by mu
}

type batch struct {
	cmds []redis.Cmder // guarded by Combiner.mu until the batch has been taken
	turn chan struct{} // closed when it may be sent
	done chan struct{} // closed when all commands have their outcome
}

// NewCombiner makes a Combiner for a client of one server. The pipeline of a cluster client will not
// do. It may send a command to the wrong node, send it again and then lose it: the command keeps the
// error MOVED, as if it had not run.
func NewCombiner(client Pipelined) *Combiner {
	return &Combiner{client: client}
}

// Process implements [Processor]. It returns when the command has its outcome, whether or not ctx
// ends.
func (c *Combiner) Process(ctx context.Context, cmd redis.Cmder) error {
	c.mu.Lock()
	if c.sending < combineAbove {
		c.sending++
		c.mu.Unlock()
		defer c.pass()
		return c.client.Process(ctx, cmd)
	}
	b, first := c.join(cmd)
	c.mu.Unlock()
	if !first {
		<-b.done
		return cmd.Err()
	}
	c.lead(ctx, b)
	return cmd.Err()
}

// Launch hands a command over without waiting for it. It reports false, and has done nothing, if the
// command would go alone: then the caller needs a goroutine for it all the same. Otherwise done is closed
// when the command has its outcome. If the command begins a batch, run is given what sends the batch, and
// has to run that on a goroutine that outlives the caller.
func (c *Combiner) Launch(ctx context.Context, cmd redis.Cmder, run func(send func())) (done <-chan struct{}, launched bool) {
	c.mu.Lock()
	if c.sending < combineAbove {
		c.mu.Unlock()
		return nil, false
	}
	b, first := c.join(cmd)
	c.mu.Unlock()
	if first {
		run(func() { c.lead(context.WithoutCancel(ctx), b) })
	}
	return b.done, true
}

// lead sends a batch when it has its turn, and passes the turn on.
func (c *Combiner) lead(ctx context.Context, b *batch) {
	c.awaitTurn(b)
	defer c.pass()
	defer close(b.done)
	c.sendBatch(ctx, c.take(b))
}

// join adds a command to the batch that waits. It reports whether the command began a new batch. The
// caller has mu.
func (c *Combiner) join(cmd redis.Cmder) (b *batch, first bool) {
	if n := len(c.waiting); n > 0 && len(c.waiting[n-1].cmds) < maxBatch {
		b = c.waiting[n-1]
	} else {
		b = &batch{turn: make(chan struct{}), done: make(chan struct{})}
		c.waiting = append(c.waiting, b)
		first = true
	}
	b.cmds = append(b.cmds, cmd)
	return b, first
}

// awaitTurn waits until the batch has its turn. After maxWait the batch takes a turn itself, so there
// may be more than combineAbove in flight.
func (c *Combiner) awaitTurn(b *batch) {
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	select {
	case <-b.turn:
	case <-timer.C:
		c.mu.Lock()
		defer c.mu.Unlock()
		if !b.hasTurn() {
			close(b.turn)
			c.sending++
		}
	}
}

// hasTurn reports whether the batch may be sent. The caller has Combiner.mu.
func (b *batch) hasTurn() bool {
	select {
	case <-b.turn:
		return true
	default:
		return false
	}
}

// take returns the commands of a batch whose turn it is. Until now the batch could grow.
func (c *Combiner) take(b *batch) []redis.Cmder {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = slices.DeleteFunc(c.waiting, func(other *batch) bool { return other == b })
	return b.cmds
}

// pass gives the turn of a command or batch that has returned to the oldest batch that has none. It
// does not while too many are in flight, because some batches have waited too long.
func (c *Combiner) pass() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sending <= combineAbove {
		for _, b := range c.waiting { // a batch that has its turn is about to be taken
			if !b.hasTurn() {
				close(b.turn)
				return
			}
		}
	}
	c.sending--
}

// sendBatch gives each command its outcome, even if a hook of go-redis panics or ends the goroutine.
// A command without an outcome has no error either, so the goroutine that waits for it would take it
// for answered.
func (c *Combiner) sendBatch(ctx context.Context, cmds []redis.Cmder) {
	returned := false
	defer func() {
		if !returned {
			for _, cmd := range cmds {
				cmd.SetErr(ErrAborted)
			}
		}
	}()
	c.send(ctx, cmds)
	returned = true
}

func (c *Combiner) send(ctx context.Context, cmds []redis.Cmder) {
	if len(cmds) == 1 {
		_ = c.client.Process(ctx, cmds[0]) // the error is in the command too
		return
	}
	pipe := c.client.Pipeline()
	_ = pipe.BatchProcess(ctx, cmds...) // gathers them, and cannot fail
	// The error is the first one of the commands', and each command has its own. The ctx of one
	// command must not end the others.
	_, _ = pipe.Exec(context.WithoutCancel(ctx))
}
