package register

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Server has both registers, for other processes to write to.
type Server struct {
	http *httptest.Server

	mu        sync.Mutex
	registers registers // guarded by mu
}

// message is every request and every reply.
type message struct {
	Token   int64
	Reading Reading
	OK      bool // the fenced register agrees
}

// Start serves two registers on a free port of the loopback address until the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /read", s.answer(func(m *message) {
		m.Reading, m.OK = s.registers.read(m.Token)
	}))
	mux.HandleFunc("POST /write", s.answer(func(m *message) {
		m.OK = s.registers.write(m.Token, m.Reading)
	}))
	s.http = httptest.NewServer(mux)
	t.Cleanup(s.http.Close)
	return s
}

// answer makes a handler of f, which has mu.
func (s *Server) answer(f func(m *message)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var m message
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		f(&m)
		s.mu.Unlock()
		_ = json.NewEncoder(w).Encode(m) // a client that is gone needs no answer
	}
}

// URL is where clients find it.
func (s *Server) URL() string { return s.http.URL }

// Plain returns the register that takes every write.
func (s *Server) Plain() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.registers.plain
}

// Fenced returns the register that checks the fencing token.
func (s *Server) Fenced() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.registers.fenced
}
