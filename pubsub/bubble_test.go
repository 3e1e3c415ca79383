package pubsub_test

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/pubsub"
)

// bubble is a hub and its server on a fake clock. Only the hub dials.
type bubble struct {
	*testing.T
	redis *miniredis.Miniredis
	hub   *pubsub.Hub

	mu       sync.Mutex
	conns    []*faultyConn
	refuse   error            // what dialing returns, if not nil
	commands map[string][]int // number of arguments of each command, by name
}

// inBubble runs f in a synctest bubble.
func inBubble(t *testing.T, cfg pubsub.Config, f func(b *bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{T: t, redis: miniredis.NewMiniRedis(), commands: map[string][]int{}}
		defer b.redis.Close()
		client := newClient(b.dial)
		defer client.Close()
		b.hub = pubsub.NewHub(client, cfg)
		defer closeHub(t, b.hub)
		f(b)
	})
}

// newClient returns a client for a bubble. The address is not dialed, but
// go-redis looks it up if it is a name, on the real network.
func newClient(dial func(context.Context, string, string) (net.Conn, error)) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", Dialer: dial})
}

func (b *bubble) dial(context.Context, string, string) (net.Conn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := &faultyConn{closed: make(chan struct{})}
	b.conns = append(b.conns, c)
	if b.refuse != nil {
		return nil, b.refuse
	}
	inner, err := b.redis.Dial()
	if err != nil {
		return nil, err
	}
	c.Conn = inner
	b.redis.Server().SetPreHook(func(_ *server.Peer, cmd string, args ...string) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.commands[cmd] = append(b.commands[cmd], len(args))
		return false
	})
	return c, nil
}

// settle waits until nothing more happens without time passing.
func (b *bubble) settle() { synctest.Wait() }

// pass lets time pass.
func (b *bubble) pass(d time.Duration) {
	time.Sleep(d) // of the bubble: no waiting
	synctest.Wait()
}

func (b *bubble) dials() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.conns)
}

// sent returns the sizes of the commands of this name since the last call.
func (b *bubble) sent(cmd string) []int {
	b.mu.Lock()
	defer b.mu.Unlock()
	sizes := b.commands[cmd]
	b.commands[cmd] = nil
	return sizes
}

func (b *bubble) setRefuse(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refuse = err
}

// last returns the connection dialed last.
func (b *bubble) last() *faultyConn {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.conns[len(b.conns)-1]
}

var errRefused = errors.New("connection refused")

// faultyConn can be made half-open.
type faultyConn struct {
	net.Conn
	closeOnce sync.Once
	closed    chan struct{}

	mu       sync.Mutex
	deaf     bool      // what arrives is swallowed
	stalled  bool      // writes block until their deadline
	deadline time.Time // of writes
}

func (c *faultyConn) set(f func(c *faultyConn)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c)
}

func (c *faultyConn) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		c.mu.Lock()
		deaf := c.deaf
		c.mu.Unlock()
		if err != nil || !deaf {
			return n, err
		}
	}
}

func (c *faultyConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	stalled, deadline := c.stalled, c.deadline
	c.mu.Unlock()
	if !stalled {
		return c.Conn.Write(p)
	}
	var expired <-chan time.Time
	if !deadline.IsZero() {
		expired = time.After(time.Until(deadline))
	}
	select {
	case <-expired:
		return 0, os.ErrDeadlineExceeded
	case <-c.closed:
		return 0, net.ErrClosed
	}
}

func (c *faultyConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	c.deadline = t
	c.mu.Unlock()
	return c.Conn.SetWriteDeadline(t)
}

func (c *faultyConn) Close() error {
	c.closeOnce.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
