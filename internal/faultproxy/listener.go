package faultproxy

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

// listener accepts connections in a goroutine of its own.
type listener struct {
	net  net.Listener
	done chan struct{} // closed when the goroutine has ended
}

// listen calls serve, which must not block, for each connection to addr.
func listen(tb testing.TB, addr string, serve func(*net.TCPConn)) (*listener, error) {
	nl, err := net.Listen("tcp4", addr)
	if err != nil {
		return nil, err
	}
	l := &listener{net: nl, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		for {
			conn, err := nl.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				tb.Errorf("faultproxy: no more connections are taken: %v", err)
				return
			}
			serve(conn.(*net.TCPConn))
		}
	}()
	return l, nil
}

// close returns when the port refuses connections. While anybody has the socket
// open, the system goes on to complete handshakes on it: that is Accept until it
// returns, and a child process between fork and exec.
func (l *listener) close() {
	l.net.Close()
	<-l.done
	syscall.ForkLock.RLock() // waits for a child that is being started
	//lint:ignore SA2001 there is nothing to do but to wait
	syscall.ForkLock.RUnlock()
}
