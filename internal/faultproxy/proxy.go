package faultproxy

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redlatch/redlatch/internal/redistest/loopback"
)

// Proxy forwards connections to one server. Its methods may be called from any
// goroutine.
type Proxy struct {
	tb           testing.TB
	target       string         // "" inside the process
	port         *loopback.Port // nil inside the process
	dial         func(ctx context.Context) (net.Conn, error)
	gates        gates
	slice        atomic.Int64 // see Slice
	messagesLate atomic.Int64 // see DelayMessages

	ctx    context.Context // ends when the proxy closes; for dials
	cancel context.CancelFunc
	wg     sync.WaitGroup // of the sessions

	mu       sync.Mutex
	listener *listener             // guarded by mu; nil while connections are refused, and inside the process
	refusing bool                  // guarded by mu; see Refuse
	closed   bool                  // guarded by mu
	sessions map[*session]struct{} // guarded by mu
	rules    []*RuleHandle         // guarded by mu
	counts   map[string]int        // guarded by mu; requests by command, upper case
}

// Start runs a proxy in front of the server at target, and closes it with the
// test. The server need not be up.
func Start(t testing.TB, target string) *Proxy {
	t.Helper()
	p := newProxy(t, func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", target)
	})
	p.target = target
	for try := 0; ; try++ {
		port, err := loopback.Claim()
		if err != nil {
			t.Fatalf("faultproxy: %v", err)
		}
		p.port = port
		err = p.listen()
		if err == nil {
			break
		}
		port.Release()
		if try == 9 {
			t.Fatalf("faultproxy: %v", err)
		}
	}
	t.Cleanup(p.close)
	return p
}

// newProxy makes a proxy that connects to its server by dial.
func newProxy(t testing.TB, dial func(ctx context.Context) (net.Conn, error)) *Proxy {
	p := &Proxy{
		tb:       t,
		dial:     dial,
		gates:    gates{changed: make(chan struct{})},
		sessions: map[*session]struct{}{},
		counts:   map[string]int{},
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// Addr is where clients connect. It stays the same over Refuse.
func (p *Proxy) Addr() string { return p.port.Addr() }

// Refuse makes the system refuse new connections, as for a server that is not
// running, until it is called with false. Open connections go on.
func (p *Proxy) Refuse(refuse bool) {
	p.tb.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refusing = refuse
	switch {
	case p.closed, p.port == nil:
	case refuse && p.listener != nil:
		p.listener.close()
		p.listener = nil
	case !refuse && p.listener == nil:
		if err := p.listenLocked(); err != nil {
			p.tb.Errorf("faultproxy: taking connections again: %v", err)
		}
	}
}

func (p *Proxy) listen() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.listenLocked()
}

func (p *Proxy) listenLocked() error {
	l, err := listen(p.tb, p.port.Addr(), func(conn *net.TCPConn) {
		p.wg.Go(func() { p.serve(conn) })
	})
	if err == nil {
		p.listener = l
	}
	return err
}

// CloseAll closes the connections of a class that are open now. After
// Refuse(true), CloseAll(Any) leaves none.
func (p *Proxy) CloseAll(class Class) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.sessions {
		if class == Any || class == s.class() {
			s.close()
		}
	}
}

// close ends everything and waits for it.
func (p *Proxy) close() {
	p.mu.Lock()
	p.closed = true
	if p.listener != nil {
		p.listener.close()
	}
	p.mu.Unlock()
	p.cancel()
	p.CloseAll(Any)
	p.wg.Wait()
	if p.port != nil {
		p.port.Release()
	}
}
