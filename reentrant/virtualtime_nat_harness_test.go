package reentrant_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
)

// nat stands between clients and the server of a bubble, as a firewall does that keeps a table of
// connections: what a client sends on one that it has forgotten vanishes, without a sign, and
// new connections are as good as ever.
type nat struct {
	silent atomic.Bool // forgets each connection that is written to
	dials  atomic.Int64
	open   atomic.Int64

	mu    sync.Mutex
	conns []*natConn // guarded by mu
}

type natConn struct {
	net.Conn
	nat       *nat
	forgotten atomic.Bool
	closed    atomic.Bool
}

type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

func (n *nat) through(dial dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		n.dials.Add(1)
		n.open.Add(1)
		c := &natConn{Conn: conn, nat: n}
		n.mu.Lock()
		defer n.mu.Unlock()
		n.conns = append(n.conns, c)
		return c, nil
	}
}

// forget forgets the connections that there are.
func (n *nat) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.conns {
		c.forgotten.Store(true)
	}
}

func (c *natConn) Write(b []byte) (int, error) {
	if c.nat.silent.Load() {
		c.forgotten.Store(true)
	}
	if c.forgotten.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func (c *natConn) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.nat.open.Add(-1)
	}
	return c.Conn.Close()
}

// client is a go-redis client behind the NAT.
func (n *nat) client(t testing.TB, v *virtual, mods ...func(*redis.Options)) *redis.Client {
	return redistest.MiniClient(t, v.mini, append(mods, func(o *redis.Options) { o.Dialer = n.through(o.Dialer) })...)
}

// idle fills the pool of a client with idle connections.
func idle(t testing.TB, rdb *redis.Client, many int) {
	t.Helper()
	conns := make([]*redis.Conn, many)
	for i := range conns {
		conns[i] = rdb.Conn()
		must(t, conns[i].Ping(t.Context()).Err())
	}
	for _, conn := range conns {
		must(t, conn.Close())
	}
	if n := rdb.PoolStats().IdleConns; int(n) != many {
		t.Fatalf("%d connections are idle, want %d", n, many)
	}
}
