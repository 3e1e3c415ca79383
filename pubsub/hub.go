package pubsub

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/hashslot"
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

	// PingTimeout is how long after a PING anything must arrive, else the connection is replaced; it
	// also limits each write. So a half-open connection is replaced PingInterval + PingTimeout after
	// the last sign of life. Optional, defaults to 2s.
	PingTimeout time.Duration

	// Linger is how long a channel stays subscribed after its last listener has left, so that a lock
	// contended again and again does not resubscribe for each wait. It may be up to an eighth longer,
	// since channels are unsubscribed in batches, and is shorter when more than 1024 channels linger
	// on one connection. Optional, defaults to 1s; negative means that channels do not linger.
	Linger time.Duration

	// MinBackoff and MaxBackoff bound the delay before a failed connection is replaced: a random time
	// between 0 and a ceiling that starts at MinBackoff and doubles with each failure up to
	// MaxBackoff. A connection that was confirmed but lived for less than MaxBackoff counts as half a
	// success: it does not raise the ceiling above 8 * MinBackoff, but the ceiling does not start
	// afresh. In a cluster the same holds for each slot that is to be subscribed anew. If there are
	// many such slots, the ceiling is 2ms for each of them, where that is more. Optional, default to
	// 20ms and 2s.
	MinBackoff, MaxBackoff time.Duration

	// Sharded has a hub for a *redis.ClusterClient use SSUBSCRIBE at the nodes that know it. Clients
	// that publish have to decide as the hub does, see the package documentation. Optional, else the
	// hub uses SUBSCRIBE in a cluster, too.
	Sharded bool

	// OnReconnect, if not nil, is called after a connection was replaced, or slots were lost and
	// found on another node or the same, and all channels that were taken over are confirmed again.
	// err is why the last working connection was given up or the slots were lost. If there was none
	// yet, err is why the first attempt failed. OnReconnect is called from the goroutine of a
	// connection loop, after the listeners, and must neither block nor call Hub.Close. In a cluster
	// there is a connection loop for each node, so several may call it at once.
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

// A Hub is one subscription connection shared by any number of listeners; in a cluster, one for each
// node that serves a channel's slot. It has connections and goroutines only while a channel is wanted
// or lingers. All methods may be called from any goroutine.
type Hub struct {
	cfg Config

	// ctx ends when the hub is closed. Its parent is context.Background, because the connection
	// outlives each of the calls that use it.
	ctx    context.Context
	cancel context.CancelFunc

	plain  *nodeConn // for SUBSCRIBE
	router *router   // for SSUBSCRIBE; nil if the hub never uses it

	mu      sync.Mutex
	closed  bool // guarded by mu
	calling int  // calls of Listen that call their listener themselves; guarded by mu
	// Made by Close while there are such calls, closed when there are none; guarded by mu.
	called chan struct{}
}

// NewHub returns a Hub that subscribes through rdb, which stays the caller's and must outlive the
// hub. It does no I/O and starts no goroutine.
func NewHub(rdb Subscriber, cfg Config) *Hub {
	h := &Hub{cfg: cfg.withDefaults()}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.plain = newNodeConn(h, "", rdb)
	if c := asCluster(rdb); c != nil && cfg.Sharded {
		h.router = newRouter(h, c)
	}
	return h
}

// Sharded reports whether the hub subscribes with SSUBSCRIBE where the node that serves a channel's
// slot has sharded pub/sub. It does if Config.Sharded is set and the client is for a Redis
// Cluster. Then a client that publishes has to ask the same node.
func (h *Hub) Sharded() bool { return h.router != nil }

// Channels returns how many channels are subscribed or wanted at present, including channels that
// linger and channels whose UNSUBSCRIBE is unanswered.
func (h *Hub) Channels() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.plain.registry.channels)
	if h.router != nil {
		n += h.router.channels()
	}
	return n
}

// Close closes the connections, stops the goroutines and waits for them until ctx ends. Then it
// returns ctx's cause, and the goroutines end by themselves once their I/O returns. No listener is
// called after Close has returned nil. Close may be called again, to wait again. It must not be
// called from a listener.
func (h *Hub) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	stopped := h.plain.stopped
	if h.router != nil {
		stopped = h.router.stopped // the router waits for the node connections
	}
	if h.calling > 0 && h.called == nil {
		h.called = make(chan struct{})
	}
	called := h.called
	h.mu.Unlock()
	h.cancel()

	for _, over := range []<-chan struct{}{stopped, called} {
		if err := await(ctx, over); err != nil {
			return err
		}
	}
	return nil
}

// await waits until the channel over is closed; nil counts as closed. If over and ctx have both
// ended, over counts.
func await(ctx context.Context, over <-chan struct{}) error {
	if over == nil {
		return nil
	}
	select {
	case <-over:
		return nil
	default:
	}
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// place returns the node connection of a channel, and its slot if there is a router. The caller has
// mu.
func (h *Hub) place(channel string) (*nodeConn, *slot) {
	if h.router == nil {
		return h.plain, nil
	}
	s := h.router.slot(hashslot.Of(channel))
	return s.line, s
}

// startLocked starts the goroutines that serve a node connection.
func (h *Hub) startLocked(l *nodeConn) {
	if h.router != nil {
		h.router.startLocked()
		if l == h.router.limbo {
			return
		}
	}
	l.startLocked()
}
