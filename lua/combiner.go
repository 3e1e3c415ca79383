package lua

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// combineAbove is how many commands or batches of a Combiner are in flight at
	// a time. So many goroutines are no faster with pipelines than without, as they
	// would only wait for each other.
	combineAbove = 4

	// maxBatch bounds how many replies a command waits for.
	maxBatch = 128

	// maxWait bounds how long a command waits for others to return: those may be on
	// connections that are dead and not known to be.
	maxWait = 20 * time.Millisecond
)

// Combiner is a [Processor] that sends the commands of many goroutines in
// pipelines. A command goes alone, as without it, while less than combineAbove are
// in flight; otherwise it waits until one of these returns, but not longer than
// maxWait, and goes together with all that wait by then. It has no goroutines: a
// batch is sent by the one that brought its first command.
//
// Each command has an outcome of its own, for which [Unknown] holds as for one that
// went alone. Commands must not be such that go-redis sends them again ([redis.Cmder]
// NoRetry), as those of the scripts are.
type Combiner struct {
	client Pipelined

	mu      sync.Mutex
	sending int      // commands and batches that have their turn; guarded by mu
	waiting []*batch // without a turn, oldest first; only the last one is not full; guarded by mu
}

type batch struct {
	cmds []redis.Cmder // guarded by Combiner.mu until it has been taken
	turn chan struct{} // closed when it may be sent
	done chan struct{} // closed when all commands have their outcome
}

// Pipelined is a [Processor] that sends several commands in one round trip too, as the clients and
// connections of go-redis for one server do.
type Pipelined interface {
	Processor
	Pipeline() redis.Pipeliner
}

// NewCombiner makes a Combiner for a client of one server. The pipeline of a cluster
// client will not do: a command that was sent to the wrong node, sent again and then
// lost keeps the error MOVED, as if it had not run.
func NewCombiner(client Pipelined) *Combiner {
	return &Combiner{client: client}
}

// Process implements [Processor]. It returns when the command has its outcome,
// whether or not ctx ends.
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
	c.awaitTurn(b)
	defer c.pass()
	defer close(b.done)
	c.sendBatch(ctx, c.take(b))
	return cmd.Err()
}

// join adds a command to the batch that waits, and reports whether it began one. The
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

// hasTurn is for the owner of Combiner.mu.
func (b *batch) hasTurn() bool {
	select {
	case <-b.turn:
		return true
	default:
		return false
	}
}

// take returns the commands of a batch whose turn it is; until now it could grow.
func (c *Combiner) take(b *batch) []redis.Cmder {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = slices.DeleteFunc(c.waiting, func(other *batch) bool { return other == b })
	return b.cmds
}

// pass gives the turn of what has returned to the oldest batch that has none, unless
// too many are under way since some of them waited too long.
func (c *Combiner) pass() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sending <= combineAbove {
		for _, b := range c.waiting { // one that has its turn is about to be taken
			if !b.hasTurn() {
				close(b.turn)
				return
			}
		}
	}
	c.sending--
}

// sendBatch gives each command its outcome, also if a hook of go-redis panics or ends the goroutine: of those who
// wait for it some would take a command without one for answered.
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
	// Its error is the first one of the commands', which have their own. The ctx of
	// one of them must not end the others.
	_, _ = pipe.Exec(context.WithoutCancel(ctx))
}
