package main

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// conn is a connection of a wire. Once it is cut it behaves as if the server had closed
// it, which go-redis knows how to take.
type conn struct {
	net.Conn
	wire *wire
	cut  atomic.Bool

	mu    sync.Mutex
	count counter // guarded by mu
}

// Write waits while the wire holds back.
func (c *conn) Write(p []byte) (int, error) {
	<-c.wire.open()
	c.mu.Lock()
	names := c.count.feed(p)
	c.mu.Unlock()
	c.wire.counted(names)
	n, err := c.Conn.Write(p)
	return n, c.closed(err)
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, c.closed(err)
}

func (c *conn) SetDeadline(t time.Time) error      { return c.closed(c.Conn.SetDeadline(t)) }
func (c *conn) SetReadDeadline(t time.Time) error  { return c.closed(c.Conn.SetReadDeadline(t)) }
func (c *conn) SetWriteDeadline(t time.Time) error { return c.closed(c.Conn.SetWriteDeadline(t)) }

func (c *conn) closed(err error) error {
	if err != nil && c.cut.Load() {
		return io.EOF
	}
	return err
}

func (c *conn) Close() error {
	c.wire.forgetConn(c)
	if c.cut.Load() {
		return nil // it has been
	}
	return c.Conn.Close()
}
