package redistest

import (
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/child"
	"github.com/redlatch/redlatch/internal/redistest/loopback"
)

// Server is a redis-server that runs as a child of the test.
//
// Its methods may be called from any goroutine. Kill, Stop, Continue and Restart
// report a failure with Errorf and return, since it is often not the test's own
// goroutine that torments the server.
type Server struct {
	// Dir is the server's working directory: redis.conf, redis.log, data.
	Dir string

	tb    testing.TB
	bin   string
	conf  config
	port  *loopback.Port
	bus   *loopback.Port // of a cluster node, or else nil
	admin *redis.Client

	mu   sync.Mutex   // held over a change of state, up to its end
	proc *child.Child // guarded by mu; the last one started
}

// Start runs a redis-server on a free port of the loopback address and waits
// until it answers. It keeps nothing on disk unless an option says so. It ends
// with the test.
//
// Without a redis-server in PATH the test is skipped, or fails if
// REDLATCH_REQUIRE_REDIS=1 is set, so that a test run meant to be complete
// cannot pass by skipping.
func Start(t testing.TB, opts ...Option) *Server {
	t.Helper()
	s := &Server{tb: t, bin: findServer(t), Dir: t.TempDir()}
	for _, o := range opts {
		o(&s.conf)
	}
	if err := s.start(); err != nil {
		t.Fatalf("redistest: %v", err)
	}
	t.Cleanup(s.shutdown)
	return s
}

func findServer(t testing.TB) string {
	t.Helper()
	bin, err := exec.LookPath("redis-server")
	if err == nil {
		return bin
	}
	if os.Getenv("REDLATCH_REQUIRE_REDIS") == "1" {
		t.Fatal("redis-server is not in PATH: install Redis 7 or later (REDLATCH_REQUIRE_REDIS=1 forbids to skip)")
	}
	t.Skip("redis-server is not in PATH: install Redis 7 or later to run this test")
	return ""
}

// Addr is the server's address. It stays the same over a Restart.
func (s *Server) Addr() string { return s.port.Addr() }

// PID is the process ID of the server that was started last.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc.PID()
}

// Kill ends the server at once, as a crash would, and waits until it is gone.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proc.Kill()
}

// Stop pauses the server: connections stay open, the kernel still takes bytes
// for it, and nothing is answered until Continue.
func (s *Server) Stop() {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.proc.Stop(); err != nil {
		s.tb.Errorf("redistest: stopping %s: %v", s.Addr(), err)
	}
}

// Continue lets a stopped server run on, first with what has been sent to it in
// the meantime.
func (s *Server) Continue() {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.proc.Continue(); err != nil {
		s.tb.Errorf("redistest: continuing %s: %v", s.Addr(), err)
	}
}

// Restart kills the server if it is running and starts it again with the same
// port, directory and configuration. It returns when the server answers.
func (s *Server) Restart() {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proc.Kill()
	if err := s.run(); err != nil {
		s.tb.Errorf("redistest: restart of %s: %v", s.Addr(), err)
	}
}

func (s *Server) shutdown() {
	s.Kill()
	s.admin.Close()
	s.releasePorts()
}
