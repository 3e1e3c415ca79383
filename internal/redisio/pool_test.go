package redisio

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
)

// poolWithin is the program's ReadTimeout: longer than all limits here.
const poolWithin = 3 * time.Second

// program is a client of a program, and the server that it uses. Its connections can be killed so that the
// client does not notice: what it writes goes nowhere, and nothing comes back.
type program struct {
	rdb   *redis.Client
	redis *miniredis.Miniredis
	dials atomic.Int32
	deaf  atomic.Bool // the server answers no script

	mu    sync.Mutex
	lines []*line        // guarded by mu
	seen  map[string]int // commands that have reached the server; guarded by mu
}

func startProgram(t *testing.T, mods ...func(*redis.Options)) *program {
	t.Helper()
	p := &program{seen: make(map[string]int)}
	var first *redis.Client
	p.redis, first = redistest.Mini(t)
	if err := first.Ping(t.Context()).Err(); err != nil { // the server begins with a dial
		t.Fatal(err)
	}
	p.redis.Server().SetPreHook(func(_ *server.Peer, command string, _ ...string) bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.seen[strings.ToLower(command)]++
		return p.deaf.Load() && strings.EqualFold(command, "eval") // a hook that says so has answered
	})
	p.rdb = redistest.MiniClient(t, p.redis, append(mods, func(o *redis.Options) {
		o.ReadTimeout, o.WriteTimeout, o.MaxRetries = poolWithin, poolWithin, -1
		dial := o.Dialer
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			p.dials.Add(1)
			conn, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			l := &line{Conn: conn}
			p.mu.Lock()
			defer p.mu.Unlock()
			p.lines = append(p.lines, l)
			return l, nil
		}
	})...)
	return p
}

// node is a [NodeOf] by which every key is on the program's server.
func (p *program) node(context.Context, string) (Node, error) { return p.rdb, nil }

// connect leaves n idle connections in the pool.
func (p *program) connect(t *testing.T, n int) {
	t.Helper()
	var conns []*redis.Conn
	for range n {
		conn := p.rdb.Conn()
		conns = append(conns, conn)
		if err := conn.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, conn := range conns {
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if idle := p.rdb.PoolStats().IdleConns; int(idle) != n {
		t.Fatalf("%d idle connections", idle)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.seen)
}

// kill kills the last n connections that were made: the pool takes those first.
func (p *program) kill(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.lines[len(p.lines)-n:] {
		l.dead.Store(true)
	}
}

func (p *program) count(command string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[command]
}

// line is a connection that can be dead.
type line struct {
	net.Conn
	dead atomic.Bool
}

func (l *line) Write(b []byte) (int, error) {
	if l.dead.Load() {
		return len(b), nil
	}
	return l.Conn.Write(b)
}

// about is a command about a key.
func about(ctx context.Context, key string) *redis.Cmd {
	return redis.NewCmd(ctx, "eval", "return 1", 1, key)
}

// isTimeout tells a command that was not answered in time.
func isTimeout(err error) bool {
	var network net.Error
	return errors.As(err, &network) && network.Timeout()
}
