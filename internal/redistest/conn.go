package redistest

import (
	"net"
	"sync"
	"time"
)

// bufferedConn gives a net.Pipe what a socket has: room for bytes on their way.
//
// On a bare pipe each write waits for its reader. A pipeline longer than
// miniredis' read buffer then blocks both sides for ever, each waiting for the
// other to read; and a subscriber that is slow to read stops the whole server,
// which publishes with its lock held.
type bufferedConn struct {
	pipe net.Conn
	up   *stream // written by the client, drained by pumpUp
	down *stream // filled by pumpDown, read by the client

	pumps sync.WaitGroup
}

func newBufferedConn(pipe net.Conn) *bufferedConn {
	c := &bufferedConn{pipe: pipe, up: newStream(), down: newStream()}
	c.pumps.Go(c.pumpUp)
	c.pumps.Go(c.pumpDown)
	return c
}

func (c *bufferedConn) pumpUp() {
	buf := make([]byte, 4096)
	for {
		n, err := c.up.read(buf)
		if err == nil {
			_, err = c.pipe.Write(buf[:n])
		}
		if err != nil {
			c.up.end(err)
			return
		}
	}
}

func (c *bufferedConn) pumpDown() {
	buf := make([]byte, 4096)
	for {
		n, err := c.pipe.Read(buf)
		if n > 0 {
			c.down.write(buf[:n])
		}
		if err != nil {
			c.down.end(err)
			return
		}
	}
}

// Close drops what is still on its way, and waits for the pumps.
func (c *bufferedConn) Close() error {
	c.up.end(net.ErrClosed)
	c.down.end(net.ErrClosed)
	err := c.pipe.Close()
	c.pumps.Wait()
	return err
}

func (c *bufferedConn) Read(b []byte) (int, error)  { return c.down.read(b) }
func (c *bufferedConn) Write(b []byte) (int, error) { return c.up.write(b) }

func (c *bufferedConn) LocalAddr() net.Addr  { return c.pipe.LocalAddr() }
func (c *bufferedConn) RemoteAddr() net.Addr { return c.pipe.RemoteAddr() }

func (c *bufferedConn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

func (c *bufferedConn) SetReadDeadline(t time.Time) error {
	c.down.setDeadline(t)
	return nil
}

// SetWriteDeadline has nothing to do: a write never waits.
func (c *bufferedConn) SetWriteDeadline(time.Time) error { return nil }
