package reentrant_test

import (
	"bytes"
	"context"
	"net"
	"sync"
	"sync/atomic"
)

// listening is the connections on which a Client has subscribed.
type listening struct {
	ended func() // the Client has closed one

	mu    sync.Mutex
	conns []*tappedConn
}

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

func (s *listening) dialer(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &tappedConn{Conn: conn, s: s}, nil
	}
}

// cut closes them.
func (s *listening) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.conns {
		conn.cut.Store(true)
		conn.Conn.Close()
	}
	s.conns = nil
}

type tappedConn struct {
	net.Conn
	s         *listening
	subscribe sync.Once
	listens   atomic.Bool
	cut       atomic.Bool
	closed    sync.Once
}

func (c *tappedConn) Close() error {
	c.closed.Do(func() {
		if c.listens.Load() && !c.cut.Load() {
			c.s.ended()
		}
	})
	return c.Conn.Close()
}

func (c *tappedConn) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("\nsubscribe\r")) {
		c.subscribe.Do(func() {
			c.listens.Store(true)
			c.s.mu.Lock()
			defer c.s.mu.Unlock()
			c.s.conns = append(c.s.conns, c)
		})
	}
	return c.Conn.Write(b)
}
