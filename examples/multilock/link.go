package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// link is the way to one server, which can be cut. A program would have a redis client
// and no more; this one wants to see a server go.
type link struct {
	number int
	rdb    *redis.Client
	direct *redis.Client // is not cut, for the end of the program

	mu    sync.Mutex
	down  bool              // guarded by mu
	conns map[net.Conn]bool // guarded by mu; those that are open
}

var errCut = errors.New("connection refused: the server is down")

// connect makes the redis clients, for servers of its own if there are no urls.
func connect(urls []string) (links []*link, disconnect func(), err error) {
	var embedded []*miniredis.Miniredis
	disconnect = func() {
		for _, l := range links {
			l.rdb.Close()
			l.direct.Close()
		}
		for _, server := range embedded {
			server.Close()
		}
	}
	if len(urls) == 0 {
		for range 5 {
			server, err := miniredis.Run()
			if err != nil {
				disconnect()
				return nil, nil, err
			}
			server.ClockTTL(true) // keys expire as time passes, as they do in Redis
			embedded = append(embedded, server)
			urls = append(urls, "redis://"+server.Addr())
		}
	}
	for i, url := range urls {
		opts, err := redis.ParseURL(url)
		if err != nil {
			disconnect()
			return nil, nil, fmt.Errorf("REDIS_URLS: server %d: %w", i+1, err)
		}
		l := &link{number: i + 1, direct: redis.NewClient(opts), conns: make(map[net.Conn]bool)}
		gated := *opts
		dial := redis.NewDialer(opts)
		gated.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			return l.dial(ctx, network, addr, dial)
		}
		l.rdb = redis.NewClient(&gated)
		links = append(links, l)
	}
	return links, disconnect, nil
}

func (l *link) dial(ctx context.Context, network, addr string, dial func(context.Context, string, string) (net.Conn, error)) (net.Conn, error) {
	if l.isDown() {
		return nil, errCut
	}
	conn, err := dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		conn.Close()
		return nil, errCut
	}
	l.conns[conn] = true
	return conn, nil
}

// cut closes the connections and lets nobody connect.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = true
	for conn := range l.conns {
		conn.Close()
	}
	clear(l.conns)
}

func (l *link) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = false
}

func (l *link) isDown() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.down
}
