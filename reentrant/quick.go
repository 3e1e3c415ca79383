package reentrant

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// quickWithin is how long a call with wait 0 waits for Redis' answer to its one command; the timeout
	// of WithReplicaAcks is added.
	quickWithin = 500 * time.Millisecond

	// If a call with wait 0 has no answer after dialAfter, the Client dials the server to find out
	// whether it can be reached, and knows within dialWithin. go-redis tells that later: it dials five
	// times, which takes 0.4 s on a port that refuses. With other settings, in a Cluster, or without an
	// answer to the dial, go-redis takes longer than the call has.
	dialAfter  = 300 * time.Millisecond
	dialWithin = 150 * time.Millisecond
)

// quickLimit is the limit of a call with wait 0, and 0 for any other. A call by a MultiLock has none: the
// MultiLock limits it.
func (c *Client) quickLimit(r *request) time.Duration {
	if !r.single() || r.member {
		return 0
	}
	return quickWithin + c.cfg.ackWithin
}

// inquiry finds out why a call with wait 0 has no answer. It is nil for any other call.
type inquiry struct {
	timer *time.Timer

	mu  sync.Mutex
	err error // of the dial; guarded by mu
}

// inquire begins the inquiry of a call about key. It returns nil for a call that needs none.
func (c *Client) inquire(quick time.Duration, key string) *inquiry {
	if quick == 0 {
		return nil
	}
	x := &inquiry{}
	x.timer = time.AfterFunc(dialAfter, func() { // ends with the dial; Close waits for it
		if !c.begin() {
			return
		}
		defer c.end()
		err := c.dial(key)
		x.mu.Lock()
		defer x.mu.Unlock()
		x.err = err
	})
	return x
}

// stop ends the inquiry of a call that is over. A dial under way goes on by itself.
func (x *inquiry) stop() {
	if x != nil {
		x.timer.Stop()
	}
}

// noAnswer is the error of a call that has no answer at its limit.
func (x *inquiry) noAnswer() error {
	if x == nil {
		return errNoAnswer
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.err == nil:
		return errNoAnswer
	case errors.Is(x.err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", errNoAnswer, x.err)
	}
	return x.err
}

// dial makes a connection to the server of the key, by the program's Dialer, and closes it.
func (c *Client) dial(key string) error {
	ctx, cancel := context.WithTimeout(c.ctx, dialWithin)
	defer cancel()
	o := c.serverOf(ctx, key)
	if o == nil {
		return nil
	}
	conn, err := o.Dialer(ctx, o.Network, o.Addr)
	if err == nil {
		_ = conn.Close()
	}
	return err
}

// serverOf returns how to reach the server that has the key, or nil if the Client cannot know. In a
// Cluster whose nodes are not known it is the first of the configured nodes.
func (c *Client) serverOf(ctx context.Context, key string) *redis.Options {
	if c.reach.node == nil {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, dialWithin/3)
	defer cancel()
	n, err := c.reach.node(limited, key)
	switch {
	case err == nil:
		return n.Options()
	case c.cluster == nil || len(c.cluster.Options().Addrs) == 0:
		return nil
	}
	all := c.cluster.Options()
	o := &redis.Options{Network: "tcp", Addr: all.Addrs[0], Dialer: all.Dialer, DialTimeout: dialWithin, TLSConfig: all.TLSConfig}
	if o.Dialer == nil {
		o.Dialer = redis.NewDialer(o)
	}
	return o
}
