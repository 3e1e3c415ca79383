package reentrant

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/lockstate"
	"github.com/redlatch/redlatch/internal/redisio"
	"github.com/redlatch/redlatch/lua"
	"github.com/redlatch/redlatch/pubsub"
	"github.com/redlatch/redlatch/watchdog"
)

// Client makes locks on one Redis: a server, a Sentinel group or a Cluster. It is one participant:
// its owners differ from the owners of every other Client, in this process too. Make one for each
// Redis and share it; it is safe for use by many goroutines.
//
// It has one goroutine that renews all its locks, started with the first one. While a call waits it
// has one or two for the subscription, and in a Cluster two for each node and one more.
type Client struct {
	observer
	calls    atomic.Uint64 // how many calls were numbered
	counters counters
	target
	reach    reach
	cfg      config
	core     lockstate.Config // what of cfg the lock states go by
	coreRW   lockstate.Config // the same for read-write locks, which are not handed over inside the Client
	coreFair lockstate.Config // the same for fair locks, of which Redis decides who is next
	id       string
	commands *redisio.Courier  // rdb, in pipelines while many goroutines use it
	single   lua.Processor     // rdb, each command by itself
	plain    lua.Processor     // the same, for commands that are no scripts
	reload   *redisio.Reloader // nil unless rdb is of a Cluster

	renewer  *renewer
	watchdog *watchdog.Watchdog
	hub      *pubsub.Hub

	number   atomic.Uint64 // of the last command that changes a lock
	arrivals arrivals      // of waiters for fair locks
	held     atomic.Int64  // ownerships: live, or being released
	work     atomic.Int64  // ownerships, calls, commands and clean-up under way

	roots atomic.Int64 // of shared leases (shared.go): counted in held, and no owner's

	freeing   atomic.Int64 // ownerships that are being released: counted in held, and not live
	finishing atomic.Int32 // calls of Close that wait for less

	nameRecord *nameRecord // nil without a name
	names      names

	workers  *redisio.Workers
	fields   ownerFields
	spare    sync.Pool // of *waiter
	timers   sync.Pool // of *time.Timer, stopped (release_wait.go)
	cleanups *cleanups

	closing   chan struct{} // closed when Close begins: nothing new is granted
	closeOnce sync.Once     // closes closing
	closed    atomic.Bool   // the drain is over: no more commands begin

	// ctx is for clean-up that belongs to no call. stop ends it, after closed was set.
	ctx  context.Context
	stop context.CancelFunc

	readersField string // of the readers that share a lease

	idle chan struct{} // capacity 1: work has fallen to 0
	less chan struct{} // capacity 1: work has fallen, and a call of Close waits in finish

	mu     sync.Mutex
	states lockStates // guarded by mu (states.go)
	unused idleStates // guarded by mu
	lost   losses     // guarded by mu

	// recent is one of states, or nil. Calls for a lock that is in much use find its state here, without mu.
	recent atomic.Pointer[lockState]

	inheritUntil time.Time // guarded by mu; a lock state made before it begins with an unknown outcome

	// Renewals of ownerships that have ended may run until then; nil: never.
	lateUntil atomic.Pointer[time.Time]
}

// New makes a Client on rdb, which stays the caller's: it is never closed and its options are never
// changed. No command is sent; see [Client.Check].
//
// New has to see what kind of Redis rdb is for. rdb is a *redis.Client, of a server or a Sentinel
// group, or a *redis.ClusterClient. It may also be a type that embeds one of them, or has a method
// Unwrap() redis.UniversalClient that returns one. Commands go through rdb itself, in a Cluster some
// go to its nodes directly. A type around such a client may not send a command twice.
//
// The error is [ErrInvalidOption] for an invalid option. It is also [ErrInvalidOption] for an rdb
// that is nil, has nothing inside, or hides what is inside, as struct{ redis.UniversalClient } does.
// So it is for a *redis.Ring, which has no one place for a subscription, and for a
// *redis.AutoPipeliner. It says what to pass. For an invalid lease it is [ErrInvalidLease].
func New(rdb redis.UniversalClient, opts ...Option) (*Client, error) {
	target, err := targetOf(rdb)
	if err != nil {
		return nil, err
	}
	cfg, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	id, err := newID()
	if err != nil {
		return nil, fmt.Errorf("redlatch: no random client id: %w", err)
	}
	c := &Client{
		observer: newObserver(&cfg),
		cfg:      cfg,
		core:     cfg.core(),
		id:       id,
		target:   target,
		closing:  make(chan struct{}),
		idle:     make(chan struct{}, 1),
		less:     make(chan struct{}, 1),
	}
	c.initKinds()
	c.cleanups = newCleanups(c)
	c.nameRecord = newNameRecord(c)
	c.route()
	c.ctx, c.stop = context.WithCancel(context.Background())
	c.workers = redisio.NewWorkers(c.ctx)
	c.watchdog = watchdog.New(watchdog.Config{
		Lease:  cfg.lease,
		Renew:  c.renewer.renew,
		Growth: growth(c.renewer.pool),
		OnFailure: func(locks int, err error) {
			mustReturn(func() { c.renewFailed(Event{Locks: locks, Err: err}) })
		},
	})
	c.hub = pubsub.NewHub(target.subscriber(), pubsub.Config{
		Sharded:     !cfg.plainPubSub,
		OnReconnect: func(err error) { mustReturn(func() { c.resubscribed(Event{Err: err}) }) },
	})
	return c, nil
}

// initKinds prepares what the lock states of each kind need.
func (c *Client) initKinds() {
	c.coreRW, c.coreFair = c.core, c.core
	c.coreRW.Handoff, c.coreFair.Handoff = lockstate.Never, lockstate.Confirmed
	c.readersField = lua.SharedReaderField(c.id)
	for i := range c.states {
		c.states[i] = make(map[string]*lockState)
	}
}

// route chooses the ways that commands go. Commands about single locks go by the courier, which
// combines them where rdb is of one server, and renewals by the renewer.
func (c *Client) route() {
	c.reach = reachOf(c.target)
	client, _ := c.rdb.(*redis.Client) // not a wrapper: its own Process would be passed by
	var pool lua.Processor = c.rdb
	if c.cluster != nil {
		c.reload = redisio.NewReloader(c.rdb, c.cluster)
		pool = c.reload
	}
	single := c.reach.single(client, pool)
	many := single
	switch {
	case c.cluster != nil:
	case client != nil && c.reach.limit >= 0:
		many = redisio.NewCombiner(c.reach.pipelined(client))
	case client == nil && c.reach.limit > 0:
		many = redisio.NewCombiner(c.rdb)
	}
	c.plain = single
	c.commands = redisio.NewCourier(c.reach.askable(), single, many, timedOut)
	c.single = c.commands.Alone()
	c.renewer = newRenewer(c.reach.withinLease(client, single, c.cfg.lease), c.reach, c.cluster != nil)
}

// ID returns the Client's UUID: the first half of its owners' fields.
func (c *Client) ID() string { return c.id }

// NewLock returns the lock of that name, 1 to 512 bytes of valid UTF-8 (prefix included) without control characters; braces
// may only form one hash tag, as in "order:{42}". With the prefix, it may not begin as the keys that belong to other locks
// do, each of these followed by ":" or "{". Of Redlatch they are redlatch_epoch, redlatch_turn, redlatch_waiters,
// redlatch_listeners and redlatch_client. Of Redisson they are redisson_lock_token, redisson_lock__channel,
// redisson_lock_queue, redisson_lock_timeout and redisson_rwlock. It may not contain ":rwlock_timeout:". It does no I/O;
// with a bad name every method that asks Redis returns [ErrInvalidName]. A Lock is cheap and holds no state: locks of the
// same name and Client are the same lock.
func (c *Client) NewLock(name string, opts ...LockOption) *Lock {
	return c.newLock(plain, name, opts)
}

func (c *Client) newLock(k *kind, name string, opts []LockOption) *Lock {
	l := &Lock{c: c, kind: k, name: name, err: checkName(c.cfg.prefix, name)}
	for _, opt := range opts {
		opt(l)
	}
	if l.err == nil {
		l.keys = l.kind.keys(c.cfg.prefix+name, c.id)
	}
	return l
}
