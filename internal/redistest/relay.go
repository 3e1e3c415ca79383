package redistest

import (
	"bytes"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redlatch/redlatch/internal/redistest/loopback"
)

// Relay is an address that stands for a server's own to clients, Sentinels and replicas
// alike. It passes bytes both ways. Package faultproxy, which reads them, does not
// understand replication.
type Relay struct {
	target   string
	port     *loopback.Port
	listener net.Listener
	running  sync.WaitGroup
	cut      atomic.Bool

	mu     sync.Mutex
	closed bool                  // guarded by mu
	conns  map[net.Conn]struct{} // guarded by mu; both sides of each connection
}

// StartRelay starts a relay to the server, which ends with the test. When the server is down
// connections to the relay end at once.
func StartRelay(t testing.TB, s *Server) *Relay {
	t.Helper()
	r := &Relay{target: s.Addr(), conns: make(map[net.Conn]struct{})}
	for try := 0; r.listener == nil; try++ {
		port, err := loopback.Claim()
		if err != nil {
			t.Fatalf("redistest: %v", err)
		}
		r.listener, err = net.Listen("tcp4", port.Addr())
		if err == nil {
			r.port = port
			break
		}
		port.Release()
		if try == 9 {
			t.Fatalf("redistest: %v", err)
		}
	}
	r.running.Go(r.accept)
	t.Cleanup(r.close)
	return r
}

// Addr is where to connect.
func (r *Relay) Addr() string { return r.port.Addr() }

// CutReplicas loses what the server sends to its replicas from now on, and nothing else.
// No side is told: the replicas go on to confirm what they have.
func (r *Relay) CutReplicas() { r.cut.Store(true) }

func (r *Relay) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return // close ends it
		}
		r.running.Go(func() { r.serve(client) })
	}
}

func (r *Relay) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp4", r.target)
	if err != nil {
		return
	}
	defer server.Close()
	if !r.enter(client, server) {
		return
	}
	defer r.leave(client, server)
	var replica atomic.Bool
	var up sync.WaitGroup
	up.Go(func() {
		defer server.Close() // and with it the other direction
		pass(server, client, func(b []byte) bool {
			if bytes.Contains(b, []byte("PSYNC")) {
				replica.Store(true)
			}
			return true
		})
	})
	pass(client, server, func([]byte) bool { return !replica.Load() || !r.cut.Load() })
	client.Close()
	up.Wait()
}

// pass moves what may go on, until either side ends.
func pass(to io.Writer, from io.Reader, may func([]byte) bool) {
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && may(buf[:n]) {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (r *Relay) enter(conns ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range conns {
		r.conns[c] = struct{}{}
	}
	return !r.closed
}

func (r *Relay) leave(conns ...net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range conns {
		delete(r.conns, c)
	}
}

func (r *Relay) close() {
	r.mu.Lock()
	r.closed = true
	r.listener.Close()
	for c := range r.conns {
		c.Close()
	}
	r.mu.Unlock()
	r.running.Wait()
	r.port.Release()
}
