package memconn

import (
	"io"
	"net"
	"sync"
)

// buffered gives a net.Pipe what a socket has: room for bytes on their way.
//
// On a bare pipe each write waits for its reader. A pipeline longer than
// miniredis' read buffer then blocks both sides for ever, each waiting for the
// other to read; and a subscriber that is slow to read stops the whole server,
// which publishes with its lock held.
type buffered struct {
	*Conn
	pumps sync.WaitGroup
	pipe  net.Conn
}

// Buffer returns a connection to the other end of pipe, which it owns from now on.
func Buffer(pipe net.Conn) net.Conn {
	near, far := Pipe()
	b := &buffered{Conn: near, pipe: pipe}
	// When either side ends the connection, the other one reads what was on its way and then the end. A net.Pipe
	// cannot be half closed: replies to what was sent last before CloseWrite are lost.
	b.pumps.Go(func() {
		_, _ = io.Copy(pipe, far)
		pipe.Close()
	})
	b.pumps.Go(func() {
		_, _ = io.Copy(far, pipe)
		far.Close()
	})
	return b
}

// Close drops what is still on its way, and waits for the pumps.
func (b *buffered) Close() error {
	b.Conn.Close()
	err := b.pipe.Close()
	b.pumps.Wait()
	return err
}
