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

	// A call with wait 0 that has no answer after dialAfter asks by a connection of its own whether the
	// server can be reached, and is told within dialWithin. go-redis tells that late: it dials five times,
	// which takes 0.4 s on a port that refuses, and with other settings, in a Cluster or without an
	// answer to the dial longer than the call has.
	dialAfter  = 300 * time.Millisecond
	dialWithin = 150 * time.Millisecond
)

// quickLimit is the limit of a call with wait 0, and 0 for any other. What a MultiLock asks for has the
// limit of the member's attempt.
func (c *Client) quickLimit(r *request) time.Duration {
	if !r.single() || r.member {
		return 0
	}
	return quickWithin + c.cfg.ackWithin
}

// inquiry finds out why a call with wait 0 has no answer. Any other call has none, which is nil.
type inquiry struct {
	timer *time.Timer

	mu  sync.Mutex
	err error // of the dial; guarded by mu
}

// inquire begins the inquiry of a call about key, which may be nil.
func (c *Client) inquire(r *request, key string) *inquiry {
	if r.quick == 0 {
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

// stop is to be called when the call is over. A dial under way goes on by itself.
func (x *inquiry) stop() {
	if x != nil {
		x.timer.Stop()
	}
}

// noAnswer is what the call ends with at its limit.
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

// serverOf is how the server that has the key is reached; nil if there is no telling. In a Cluster whose
// nodes are not known it is one of those to begin with.
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
