package redisio

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// maxDetours is how many commands go past the pool at a time, and so how many connections
// there are for them.
const maxDetours = 8

// Detours sends commands past the pool of the program's client, on connections made for them
// from the client's options, through its hooks (those of dialing excepted). It is for a pool
// whose connections are dead and not known to be, or are all taken.
//
// A connection is not kept: the next time it would be an old one too.
type Detours struct {
	nodes     NodeOf
	within    time.Duration // for a connection and for a reply
	deadlines bool          // may be set on a connection
	room      chan struct{} // full while maxDetours commands are under way

	mu   sync.Mutex
	ways map[string]*way // by the node's address; guarded by mu; each lives while a command uses it
}

// way is a client of our own.
type way struct {
	client *redis.Client
	users  int // guarded by Detours.mu; the last one closes the client
}

// NewDetours makes Detours to the nodes that nodes finds. Where connections must have no deadlines,
// within limits the dialing only.
func NewDetours(nodes NodeOf, within time.Duration, deadlines bool) *Detours {
	return &Detours{
		nodes: nodes, within: within, deadlines: deadlines,
		room: make(chan struct{}, maxDetours), ways: make(map[string]*way),
	}
}

// Process implements [Processor]. It ends with ctx, which must have a deadline.
func (d *Detours) Process(ctx context.Context, cmd redis.Cmder) error {
	select {
	case d.room <- struct{}{}:
	case <-ctx.Done():
		cmd.SetErr(ctx.Err())
		return ctx.Err()
	}
	defer func() { <-d.room }()
	n, err := d.nodes(ctx, keyOf(cmd))
	if err != nil {
		cmd.SetErr(err)
		return err
	}
	address := n.Options().Addr
	w := d.enter(address, n)
	defer d.leave(address, w)
	if !d.deadlines { // no deadlines: only closing ends a read
		stop := context.AfterFunc(ctx, func() { w.client.Close() })
		defer stop()
	}
	return BehindHooks(n, w.client).Process(ctx, cmd)
}

func (d *Detours) enter(address string, n Node) *way {
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.ways[address]
	if w == nil {
		w = &way{client: redis.NewClient(d.options(n))}
		d.ways[address] = w
	}
	w.users++
	return w
}

func (d *Detours) leave(address string, w *way) {
	d.mu.Lock()
	w.users--
	last := w.users == 0
	if last {
		delete(d.ways, address)
	}
	d.mu.Unlock()
	if last {
		w.client.Close() // it says that it has closed, or that somebody has
	}
}

// options are the program's, without what keeps connections or opens more than are needed.
func (d *Detours) options(n Node) *redis.Options {
	o := *n.Options()
	o.ReadTimeout, o.WriteTimeout = d.within, d.within // ctx may end sooner
	if !d.deadlines {
		o.ReadTimeout, o.WriteTimeout = -2, -2
	}
	o.ContextTimeoutEnabled = d.deadlines
	o.DialTimeout, o.DialerRetries, o.MaxRetries = d.within, 1, -1
	o.PoolSize, o.PipelinePoolSize = 2*maxDetours, -1
	o.MinIdleConns, o.MaxIdleConns, o.MaxActiveConns = 0, 0, 0
	o.ConnMaxLifetime, o.ConnMaxLifetimeJitter = d.within, 0
	o.ClientSideCache, o.ClientSideCacheConfig = nil, nil
	o.PushNotificationProcessor = nil // the program's belongs to its own client
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return &o
}
