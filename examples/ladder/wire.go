package main

import (
	"context"
	"errors"
	"net"
	"sync"

	"github.com/redis/go-redis/v9"
)

// wire is one process's way to Redis. It can lose its process, hold back what is sent,
// lead to another server, and counts commands. A program would have a redis client and
// no more; this one wants to see things go wrong.
type wire struct {
	mu    sync.Mutex
	to    *redis.Options // guarded by mu
	dead  bool           // guarded by mu; the process has crashed
	conns map[*conn]bool // guarded by mu; those that are open
	gate  chan struct{}  // guarded by mu; closed when nothing is held back
	sent  map[string]int // guarded by mu; commands by name
}

var errCrashed = errors.New("the process has crashed")

func newWire(to *redis.Options) *wire {
	w := &wire{to: to, conns: make(map[*conn]bool), sent: make(map[string]int), gate: make(chan struct{})}
	close(w.gate)
	return w
}

// client returns a redis client that has no other way to Redis.
func (w *wire) client() *redis.Client {
	w.mu.Lock()
	opts := *w.to
	w.mu.Unlock()
	opts.Dialer = w.dial
	opts.MaxRetries = 10 // after a failover each try may find one more dead connection in the pool
	return redis.NewClient(&opts)
}

func (w *wire) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	w.mu.Lock()
	to, dead := w.to, w.dead
	w.mu.Unlock()
	if dead {
		return nil, errCrashed
	}
	inner, err := redis.NewDialer(to)(ctx, network, to.Addr)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: inner, wire: w}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead || w.to != to {
		inner.Close()
		return nil, errCrashed
	}
	w.conns[c] = true
	return c, nil
}

// crash ends the process, as far as Redis can tell: nothing is sent any more.
func (w *wire) crash() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead = true
	w.cutLocked()
}

// failOver closes all connections; new ones lead to another server.
func (w *wire) failOver(to *redis.Options) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.to = to
	w.cutLocked()
}

func (w *wire) cutLocked() {
	for c := range w.conns {
		c.cut.Store(true)
		c.Conn.Close()
	}
	clear(w.conns)
}

// hold keeps back what is sent from now on, until the function it returns is called.
func (w *wire) hold() (let func()) {
	gate := make(chan struct{})
	w.mu.Lock()
	w.gate = gate
	w.mu.Unlock()
	return sync.OnceFunc(func() { close(gate) })
}

func (w *wire) open() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gate
}

func (w *wire) forgetConn(c *conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.conns, c)
}

func (w *wire) counted(names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range names {
		w.sent[name]++
	}
}

// forget starts the count anew.
func (w *wire) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.sent)
}

// commands is how many have been sent, without those that go-redis sends to introduce
// itself on a new connection.
func (w *wire) commands() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, times := range w.sent {
		switch name {
		case "hello", "client", "auth", "select", "ping":
		default:
			n += times
		}
	}
	return n
}
