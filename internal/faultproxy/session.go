package faultproxy

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// session is one client connection and the server connection behind it.
//
// Two goroutines move the frames: up takes requests to the server, down takes
// replies to the client. Each reads one side and writes the other.
type session struct {
	p      *Proxy
	client net.Conn

	subscribed atomic.Bool // set by up, before the request that subscribes is forwarded
	forgotten  atomic.Bool // set by Forget

	done      chan struct{} // closed by close
	closeOnce sync.Once

	mu      sync.Mutex
	server  net.Conn // written once, with mu held, before the pumps start; they read it freely
	pending []answer // guarded by mu; for the replies to come, in order

	handshake [][]byte // used by up; see remember
}

func (s *session) class() Class {
	if s.subscribed.Load() {
		return PubSub
	}
	return Command
}

// serve runs a session to its end.
func (p *Proxy) serve(client net.Conn) {
	s := &session{p: p, client: client, done: make(chan struct{})}
	defer s.close()
	if !p.enter(s) {
		return
	}
	defer p.leave(s)
	if !s.dial() {
		return // the client sees its connection end, as with a dead server
	}
	var pumps sync.WaitGroup
	pumps.Go(s.up)
	pumps.Go(s.down)
	pumps.Wait()
}

// enter refuses a connection that was accepted just before Refuse, so that
// nothing is left open after Refuse and CloseAll.
func (p *Proxy) enter(s *session) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.refusing {
		return false
	}
	p.sessions[s] = struct{}{}
	return true
}

func (p *Proxy) leave(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.sessions, s)
}

// dial connects to the server, and fails if the session is closed meanwhile.
func (s *session) dial() bool {
	conn, err := s.p.dial(s.p.ctx)
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.server = conn // from here on close closes it
	select {
	case <-s.done:
		s.server.Close()
		return false
	default:
		return true
	}
}

// close ends the session from any goroutine. Both pumps then fail and return.
func (s *session) close() {
	s.closeOnce.Do(func() {
		close(s.done)
		s.client.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.server != nil {
			s.server.Close()
		}
	})
}

// reset is close with a RST to the client instead of a FIN. Inside the process there is none.
func (s *session) reset() {
	if client, ok := s.client.(*net.TCPConn); ok {
		_ = client.SetLinger(0) // fails only on a connection that is gone
	}
	s.close()
}

// closeWrite tells the server that nothing more comes. False: it could not be told.
func (s *session) closeWrite() bool {
	server, can := s.server.(interface{ CloseWrite() error })
	return can && server.CloseWrite() == nil
}

// pause returns false if the session was closed meanwhile.
func (s *session) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.done:
		return false
	}
}

// stall returns false if the session was closed before it may go on.
func (s *session) stall(resumed <-chan struct{}) bool {
	select {
	case <-resumed:
		return true
	case <-s.done:
		return false
	}
}

// check reports a stream that is not RESP: the proxy does not understand the
// test's traffic, and what the test shows would mean nothing.
func (s *session) check(err error) {
	if errors.Is(err, errProtocol) {
		s.p.tb.Errorf("faultproxy: %v", err)
	}
}
