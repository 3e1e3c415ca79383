package memconn

import (
	"io"
	"net"
	"time"
)

// Conn is one end of a [Pipe].
type Conn struct {
	in, out *stream
}

// Pipe returns the two ends of a connection. Unlike those of a net.Pipe, a write never waits: the pipe has room
// for all bytes on their way, as a socket has for some.
func Pipe() (*Conn, *Conn) {
	a, b := newStream(), newStream()
	return &Conn{in: a, out: b}, &Conn{in: b, out: a}
}

// Read waits until there are bytes, until the other end is closed and all is read, or until the deadline.
func (c *Conn) Read(b []byte) (int, error) { return c.in.read(b) }

// Write fails when either end is closed.
func (c *Conn) Write(b []byte) (int, error) { return c.out.write(b) }

// CloseWrite has the other end read io.EOF behind the bytes that are on their way.
func (c *Conn) CloseWrite() error {
	c.out.end(io.EOF)
	return nil
}

// Close is CloseWrite, and writes of the other end fail from now on.
func (c *Conn) Close() error {
	c.in.end(net.ErrClosed)
	return c.CloseWrite()
}

// LocalAddr implements [net.Conn].
func (c *Conn) LocalAddr() net.Addr { return addr{} }

// RemoteAddr implements [net.Conn].
func (c *Conn) RemoteAddr() net.Addr { return addr{} }

// SetDeadline implements [net.Conn].
func (c *Conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetReadDeadline implements [net.Conn].
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.in.setDeadline(t)
	return nil
}

// SetWriteDeadline has nothing to do: a write never waits.
func (c *Conn) SetWriteDeadline(time.Time) error { return nil }

// addr is the address of both ends.
type addr struct{}

func (addr) Network() string { return "memory" }
func (addr) String() string  { return "memory" }
