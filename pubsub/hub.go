package pubsub

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Subscriber opens subscription connections. *redis.Client and
// *redis.ClusterClient are Subscribers. *redis.Ring has the method but panics
// when it is called without channels, as the hub does.
type Subscriber interface {
	Subscribe(ctx context.Context, channels ...string) *redis.PubSub
}

// Config holds the settings of a Hub. The zero value is ready to use.
type Config struct {
	// PingInterval is the silence after which the connection is pinged.
	// Optional, defaults to 3s.
	PingInterval time.Duration

	// PingTimeout is how long after a PING anything must arrive, else the
	// connection is replaced; it also limits each write. A half-open connection
	// is thus replaced PingInterval + PingTimeout after the last sign of life.
	// Optional, defaults to 2s.
	PingTimeout time.Duration

	// Linger is how long a channel stays subscribed after its last listener has
	// left, so that a lock contended again and again does not resubscribe for
	// each wait. It may be up to an eighth longer, since channels are
	// unsubscribed in batches, and is shorter when more than 1024 channels
	// linger. Optional, defaults to 1s; negative means not at all.
	Linger time.Duration

	// MinBackoff and MaxBackoff bound the delay before a failed connection is
	// replaced: a random time between 0 and a ceiling that starts at MinBackoff
	// and doubles with each failure up to MaxBackoff. A connection that was
	// confirmed but lived for less than MaxBackoff counts as half a success:
	// the ceiling goes no higher than 8 * MinBackoff because of it, but does
	// not start afresh. Optional, default to 20ms and 2s.
	MinBackoff, MaxBackoff time.Duration

	// OnReconnect, if not nil, is called after a connection was replaced and
	// all channels that were carried over are confirmed again. err is why the
	// last working connection was given up, or, when there was none yet, why
	// the first attempt to connect failed. It is called from the manager
	// goroutine, after the listeners, and must neither block nor call
	// Hub.Close.
	OnReconnect func(err error)
}

func (cfg Config) withDefaults() Config {
	cfg.PingInterval = cmp.Or(max(cfg.PingInterval, 0), 3*time.Second)
	cfg.PingTimeout = cmp.Or(max(cfg.PingTimeout, 0), 2*time.Second)
	cfg.Linger = cmp.Or(cfg.Linger, time.Second)
	cfg.MinBackoff = cmp.Or(max(cfg.MinBackoff, 0), 20*time.Millisecond)
	cfg.MaxBackoff = max(cmp.Or(max(cfg.MaxBackoff, 0), 2*time.Second), cfg.MinBackoff)
	return cfg
}

// A Hub is one subscription connection shared by any number of listeners. It
// has a connection and goroutines only while a channel is wanted or lingers.
// All methods may be called from any goroutine.
type Hub struct {
	rdb Subscriber
	cfg Config

	// ctx ends when the hub is closed. It derives from the background because
	// the connection outlives each of the calls that use it.
	ctx    context.Context
	cancel context.CancelFunc

	// wake tells the manager that there may be something to do. Its one slot
	// suffices: the manager looks at everything each time.
	wake chan struct{}

	// manager belongs to the goroutine that runs it. It passes from one run to
	// the next under mu, with running, so that the delay between attempts to
	// connect is kept also when each attempt has a listener of its own.
	manager manager

	mu       sync.Mutex
	registry registry      // guarded by mu
	closed   bool          // guarded by mu
	running  bool          // guarded by mu
	stopped  chan struct{} // guarded by mu; of the latest run, closed when it ends; nil before the first
}

// NewHub returns a Hub that subscribes through rdb, which stays the caller's
// and must outlive the hub. It does no I/O and starts no goroutine.
func NewHub(rdb Subscriber, cfg Config) *Hub {
	h := &Hub{rdb: rdb, cfg: cfg.withDefaults(), wake: make(chan struct{}, 1)}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.registry = registry{channels: make(map[string]*channel), linger: h.cfg.Linger}
	h.manager.hub = h
	return h
}

// Channels returns how many channels are subscribed or wanted at present,
// including those that linger and those whose UNSUBSCRIBE is unanswered.
func (h *Hub) Channels() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.registry.channels)
}

// Close closes the connection, stops the goroutines and waits for them until
// ctx ends; it then returns ctx's error, and they end by themselves once the
// I/O they are in returns. No listener is called after Close has returned nil.
// Close may be called again, to wait again. It must not be called from a
// listener.
func (h *Hub) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	stopped := h.stopped
	h.mu.Unlock()
	h.cancel()

	if stopped == nil {
		return nil
	}
	select {
	case <-stopped:
		return nil
	default:
	}
	select {
	case <-stopped:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// startLocked starts the manager unless it runs.
func (h *Hub) startLocked() {
	if h.running {
		return
	}
	h.running = true
	h.stopped = make(chan struct{})
	go h.manager.run()
}

// retire ends the run of the manager if there is nothing left for it to do.
// Deciding that and giving up the running flag is one step under mu; otherwise
// a Listen in between would count on a manager that is about to end.
func (h *Hub) retire() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed && !h.registry.idle() {
		return false
	}
	clear(h.registry.channels) // after Close there may be some
	h.registry.reset()
	h.running = false
	close(h.stopped)
	return true
}

// poke wakes the manager.
func (h *Hub) poke() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}
