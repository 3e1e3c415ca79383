package redisio

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// sweepWithin is how long an idle connection has to answer PING.
	sweepWithin = time.Second

	// maxSwept is how many connections of a pool are asked at a time.
	maxSwept = 256

	// maxSilent is of how many keys it is known that the last command was not answered.
	maxSilent = 1024
)

// Courier carries the commands about single keys. Where the last one about a key was not
// answered the connections in the pool may be dead and not known to be, and each repetition would
// find another such one and cost a ReadTimeout. So before it repeats a command it has the idle
// connections asked for a sign of life, all at once: those that give none leave the pool, as they
// do after any command.
//
// The command itself goes the way of all others, through the program's pool and hooks: its
// order among the commands about a key, and the name that a hook may give the key, are
// what mutual exclusion rests on.
type Courier struct {
	single Processor // each command by itself
	many   Processor // in pipelines while many goroutines use it
	nodes  NodeOf    // nil if idle connections cannot be asked
	silent func(err error) bool

	count atomic.Int32 // len(keys)

	mu     sync.Mutex
	keys   map[string]struct{}      // about which the last command was not answered; guarded by mu
	sweeps map[string]chan struct{} // by the node's address; closed when it is over; guarded by mu
}

// NewCourier makes a Courier that sends commands by many, or by single if they are not to wait for
// others. It finds the connections to ask by nodes; if that is nil it asks none. silent reports
// that a command was sent and not answered in time.
func NewCourier(nodes NodeOf, single, many Processor, silent func(err error) bool) *Courier {
	return &Courier{
		single: single, many: many, nodes: nodes, silent: silent,
		keys: make(map[string]struct{}), sweeps: make(map[string]chan struct{}),
	}
}

// Process implements [Processor].
func (c *Courier) Process(ctx context.Context, cmd redis.Cmder) error {
	return c.carry(ctx, cmd, c.many)
}

// Launch is [Combiner.Launch]. It reports false also where commands are not combined, and where the last
// command about the key was not answered. When done is closed the caller calls Landed.
func (c *Courier) Launch(ctx context.Context, cmd redis.Cmder, run func(send func())) (done <-chan struct{}, launched bool) {
	combiner, combines := c.many.(*Combiner)
	if !combines || c.isSilent(keyOf(cmd)) {
		return nil, false
	}
	return combiner.Launch(ctx, cmd, run)
}

// Landed notes whether a command that was launched has been answered.
func (c *Courier) Landed(cmd redis.Cmder) { c.note(keyOf(cmd), c.silent(cmd.Err())) }

// Alone is the Courier for commands that are not to wait for others.
func (c *Courier) Alone() Processor { return alone{c} }

type alone struct{ c *Courier }

func (a alone) Process(ctx context.Context, cmd redis.Cmder) error {
	return a.c.carry(ctx, cmd, a.c.single)
}

func (c *Courier) carry(ctx context.Context, cmd redis.Cmder, p Processor) error {
	key := keyOf(cmd)
	if c.isSilent(key) {
		c.sweep(ctx, key)
		p = c.single // pipelines have connections of their own, which were not asked
	}
	err := p.Process(ctx, cmd)
	c.note(key, c.silent(err))
	return err
}

func (c *Courier) isSilent(key string) bool {
	if c.count.Load() == 0 {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, silent := c.keys[key]
	return silent
}

func (c *Courier) note(key string, silent bool) {
	if !silent && c.count.Load() == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !silent {
		delete(c.keys, key)
	} else if len(c.keys) < maxSilent {
		c.keys[key] = struct{}{}
	}
	c.count.Store(int32(len(c.keys)))
}

// sweep asks the idle connections to the node of key, once for all that want it at the same time.
func (c *Courier) sweep(ctx context.Context, key string) {
	if c.nodes == nil {
		return
	}
	n, err := c.nodes(ctx, key)
	if err != nil {
		return
	}
	address := n.Options().Addr
	c.mu.Lock()
	over, running := c.sweeps[address]
	if !running {
		over = make(chan struct{})
		c.sweeps[address] = over
	}
	c.mu.Unlock()
	if running {
		<-over
		return
	}
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.sweeps, address)
		close(over)
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sweepWithin) // the wait for a connection too
	defer cancel()
	askIdle(ctx, n.WithTimeout(sweepWithin))
}

// askIdle sends as many commands at once as the pool has idle connections. Each that hangs keeps
// its connection from the others. Any reply is a sign of life.
func askIdle(ctx context.Context, rdb *redis.Client) {
	var asked sync.WaitGroup
	defer asked.Wait()
	for range min(rdb.PoolStats().IdleConns, maxSwept) {
		asked.Go(func() { // ends within sweepWithin, for a connection and for the reply
			_ = rdb.Process(ctx, onePing(ctx))
		})
	}
}

// onePing is a PING that go-redis does not repeat.
func onePing(ctx context.Context) redis.Cmder { return ping{redis.NewStatusCmd(ctx, "ping")} }

type ping struct{ *redis.StatusCmd }

// NoRetry implements [redis.Cmder].
func (ping) NoRetry() bool { return true }
