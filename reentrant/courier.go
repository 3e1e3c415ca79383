package reentrant

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/lua"
)

const (
	// sweepWithin is how long an idle connection has to answer PING.
	sweepWithin = time.Second

	// maxSwept is how many connections of a pool are asked at a time.
	maxSwept = 256

	// maxSilent is of how many locks it is known that the last command was not answered.
	maxSilent = 1024
)

// courier carries the commands about single locks. Where the last one about a lock was not
// answered the connections in the pool may be dead and not known to be, and each repetition would
// find another such one and cost a ReadTimeout. So before it repeats a command it has the idle
// connections asked for a sign of life, all at once: those that give none leave the pool, as they
// do after any command.
//
// The command itself goes the way of all others, through the program's pool and hooks: its
// order among the commands about a lock, and the name that a hook may give the key, are
// what mutual exclusion rests on.
type courier struct {
	single lua.Processor // each command by itself
	many   lua.Processor // in pipelines while many goroutines use it
	reach  reach

	count atomic.Int32 // len(silent)

	mu     sync.Mutex
	silent map[string]struct{}      // keys of locks whose last command was not answered; guarded by mu
	sweeps map[string]chan struct{} // by the node's address; closed when it is over; guarded by mu
}

func newCourier(r reach, single, many lua.Processor) *courier {
	return &courier{
		single: single, many: many, reach: r,
		silent: make(map[string]struct{}), sweeps: make(map[string]chan struct{}),
	}
}

// alone is the courier for commands that are not to wait for others.
type alone struct{ *courier }

func (a alone) Process(ctx context.Context, cmd redis.Cmder) error {
	return a.carry(ctx, cmd, a.courier.single)
}

// Process implements [lua.Processor].
func (c *courier) Process(ctx context.Context, cmd redis.Cmder) error {
	return c.carry(ctx, cmd, c.many)
}

func (c *courier) carry(ctx context.Context, cmd redis.Cmder, p lua.Processor) error {
	key := keyOf(cmd)
	if c.isSilent(key) {
		c.sweep(ctx, key)
		p = c.single // pipelines have connections of their own, which were not asked
	}
	err := p.Process(ctx, cmd)
	c.note(key, timedOut(err))
	return err
}

func (c *courier) isSilent(key string) bool {
	if c.count.Load() == 0 {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, silent := c.silent[key]
	return silent
}

func (c *courier) note(key string, silent bool) {
	if !silent && c.count.Load() == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !silent {
		delete(c.silent, key)
	} else if len(c.silent) < maxSilent {
		c.silent[key] = struct{}{}
	}
	c.count.Store(int32(len(c.silent)))
}

// timedOut reports that a command was sent and not answered in time.
func timedOut(err error) bool {
	if err == nil {
		return false // before the allocation that errors.As needs
	}
	var network net.Error
	return lua.Unknown(err) && (errors.Is(err, lua.ErrNoReply) || errors.As(err, &network) && network.Timeout())
}

// sweep asks the idle connections to the node of key, once for all that want it at the same time.
func (c *courier) sweep(ctx context.Context, key string) {
	if c.reach.node == nil || c.reach.limit < 0 {
		return // no way to ask with a limit of our own
	}
	n, err := c.reach.node(ctx, key)
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
