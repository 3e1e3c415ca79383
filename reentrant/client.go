package reentrant

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/lua"
	"github.com/redlatch/redlatch/pubsub"
	"github.com/redlatch/redlatch/watchdog"
)

// Client makes locks on one Redis: a server, a Sentinel group or a Cluster. It is
// one participant: its owners are told apart from those of every other Client, in
// this process too. Make one for each Redis and share it; it is safe for use by
// many goroutines.
//
// It has one goroutine that renews all its locks, started with the first one, and
// one or two for the subscription while somebody waits; in a Cluster two for each node
// and one more.
type Client struct {
	observer
	counters  counters
	cfg       config
	id        string
	rdb       redis.UniversalClient
	commands  lua.Processor // rdb, in pipelines while many goroutines use it
	single    lua.Processor // rdb, each command by itself
	reload    *reloader     // nil unless rdb is of a Cluster
	clustered bool

	watchdog *watchdog.Watchdog
	hub      *pubsub.Hub

	number atomic.Uint64 // of the last command that changes a lock
	held   atomic.Int64  // live holdings
	work   atomic.Int64  // live holdings, and commands and clean-up under way

	crew     crew
	spare    sync.Pool     // of *waiter
	cleaners chan struct{} // full while so many clean-up commands are in flight

	closing   chan struct{} // closed when Close begins: nothing new is granted
	closeOnce sync.Once     // closes closing
	closed    atomic.Bool   // the drain is over: no command is begun any more

	// ctx is for clean-up that belongs to no call; stop ends it, after closed was
	// set.
	ctx  context.Context
	stop context.CancelFunc

	idle chan struct{} // capacity 1: work has fallen to 0

	mu     sync.Mutex
	queues map[string]*queue // guarded by mu; a queue lives while somebody uses it
	lost   []*lostHold       // guarded by mu; oldest first, at most maxLost

	doubtUntil time.Time // guarded by mu; a queue made before it begins in doubt

	lateUntil atomic.Pointer[time.Time] // renewals of holdings that have ended may run until then; nil: never
}

// New makes a Client on rdb, which stays the caller's: it is never closed and its
// options are never changed. No command is sent; see [Client.Check].
//
// The error is [ErrInvalidOption] for an invalid option, for a nil rdb and for a *redis.Ring,
// which has no one place for a subscription, and [ErrInvalidLease] for an invalid lease.
func New(rdb redis.UniversalClient, opts ...Option) (*Client, error) {
	if rdb == nil || rdb == (*redis.Client)(nil) || rdb == (*redis.ClusterClient)(nil) {
		return nil, fmt.Errorf("%w: no redis client", ErrInvalidOption)
	}
	if _, ring := rdb.(*redis.Ring); ring {
		return nil, fmt.Errorf("%w: redis.Ring cannot carry a lock's subscription", ErrInvalidOption)
	}
	cfg, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	id, err := newID()
	if err != nil {
		return nil, fmt.Errorf("redlatch: no random client id: %w", err)
	}
	cluster, clustered := rdb.(*redis.ClusterClient)
	c := &Client{
		observer:  observer{events: cfg.events, logger: cfg.logger},
		cfg:       cfg,
		id:        id,
		rdb:       rdb,
		commands:  rdb,
		single:    rdb,
		clustered: clustered,
		closing:   make(chan struct{}),
		idle:      make(chan struct{}, 1),
		queues:    make(map[string]*queue),
		cleaners:  make(chan struct{}, cleaners),
	}
	if client, ok := rdb.(*redis.Client); ok {
		c.commands = lua.NewCombiner(client)
	}
	if clustered {
		c.reload = &reloader{cluster: cluster}
		c.commands, c.single = c.reload, c.reload
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	c.crew.ctx, c.crew.work = c.ctx, make(chan func())
	c.watchdog = watchdog.New(watchdog.Config{
		Lease: cfg.lease,
		Renew: renewer(c.single, clustered),
		OnFailure: func(locks int, err error) {
			c.renewFailed(Event{Locks: locks, Err: err})
		},
	})
	c.hub = pubsub.NewHub(rdb, pubsub.Config{
		Sharded:     !cfg.plainPubSub,
		OnReconnect: func(err error) { c.resubscribed(Event{Err: err}) },
	})
	return c, nil
}

// ID returns the Client's UUID: the first half of its owners' fields.
func (c *Client) ID() string { return c.id }

// NewLock returns the lock of that name, 1 to 512 bytes of valid UTF-8 (prefix included)
// without control characters; braces may only form one hash tag, as in "order:{42}". With the
// prefix, it may not begin as the keys that belong to other locks do: with redlatch_epoch,
// redlatch_turn, redlatch_waiters, redlatch_listeners, redisson_lock_token or
// redisson_lock__channel, each followed by ":" or "{". It does no I/O; with a bad name every
// method that asks Redis returns [ErrInvalidName]. A Lock is cheap and holds no state: locks
// of the same name and Client are the same lock.
func (c *Client) NewLock(name string, opts ...LockOption) *Lock {
	l := &Lock{c: c, name: name, err: checkName(c.cfg.prefix, name)}
	for _, opt := range opts {
		opt(l)
	}
	if l.err == nil {
		l.keys = lua.KeysOf(c.cfg.prefix+name, c.id)
	}
	return l
}

// joinQueue returns the queue of a lock, for a user that must call queue.leave.
func (c *Client) joinQueue(l *Lock) *queue {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.queues[l.name]
	if q == nil {
		q = newQueue(c, l)
		q.doubt = !c.doubtUntil.IsZero() && time.Now().Before(c.doubtUntil)
		q.older = q.doubt
		c.queues[l.name] = q
	}
	q.keep()
	return q
}

// findQueue is joinQueue for a user who has business only with a queue in use.
func (c *Client) findQueue(l *Lock) *queue {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.queues[l.name]
	if q != nil {
		q.keep()
	}
	return q
}

// dropQueue forgets a queue that nobody uses, unless somebody has joined it since. What
// it was in doubt about outlives it: a release that was never answered may arrive when
// the owner holds the lock anew, by way of the next queue of that name. Queues of every
// name begin with an epoch then, which is little to pay. No user being left, nobody has
// the wire.
func (c *Client) dropQueue(q *queue) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q.users.Load() > 0 || c.queues[q.name] != q {
		return
	}
	delete(c.queues, q.name)
	if q.doubt && !q.older { // otherwise doubtUntil has reckoned with it
		c.doubtUntil = time.Now().Add(doubtTTL)
	}
}
