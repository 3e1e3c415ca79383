package redistest_test

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
)

func TestStartAnswers(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb := s.Client(t)
	if err := rdb.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if got := s.Do(t, "GET", "k"); got != "v" {
		t.Fatalf("GET k = %v", got)
	}
	if got := s.Do(t, "GET", "none"); got != nil {
		t.Fatalf("GET none = %v, want nil", got)
	}
}

func TestKillAndRestartForgets(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	addr := s.Addr()
	s.Do(t, "SET", "k", "v")
	s.Kill()
	if err := s.Admin().Ping(t.Context()).Err(); err == nil {
		t.Fatal("a killed server answers")
	}
	s.Restart()
	if s.Addr() != addr {
		t.Fatalf("address %s became %s", addr, s.Addr())
	}
	if got := s.Do(t, "GET", "k"); got != nil {
		t.Fatalf("GET k = %v after a restart without persistence", got)
	}
}

func TestRestartWithAOFRemembers(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.WithAOF())
	s.Do(t, "SET", "k", "v")
	s.Restart()
	if got := s.Do(t, "GET", "k"); got != "v" {
		t.Fatalf("GET k = %v, want v", got)
	}
}

// A stopped server takes bytes and answers none; what was sent is executed
// later, even for a client that has given up.
func TestStopAndContinue(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb := s.Client(t, func(o *redis.Options) {
		o.MaxRetries = -1
		o.ContextTimeoutEnabled = true
	})
	if err := rdb.Ping(t.Context()).Err(); err != nil { // the connection is up
		t.Fatal(err)
	}
	s.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := rdb.Incr(ctx, "n").Err(); err == nil {
		t.Fatal("a stopped server answers")
	}
	s.Continue()
	redistest.Eventually(t, 5*time.Second, "the late INCR is executed", func() bool {
		return s.Do(t, "GET", "n") == "1"
	})
}

func TestOptionsReachTheServer(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t,
		redistest.WithConfig("maxmemory-policy volatile-lru"),
		redistest.WithArgs("--maxclients", "77"))
	policy := s.Do(t, "CONFIG", "GET", "maxmemory-policy").([]any)
	clients := s.Do(t, "CONFIG", "GET", "maxclients").([]any)
	if policy[1] != "volatile-lru" || clients[1] != "77" {
		t.Fatalf("maxmemory-policy %v, maxclients %v", policy, clients)
	}
}

func TestReplicaFollowsMaster(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	replica := redistest.Start(t, redistest.WithReplicaOf(master))
	replica.Follows(t, master)
	master.Do(t, "SET", "k", "v")
	redistest.Eventually(t, 10*time.Second, "the replica has k", func() bool {
		return replica.Do(t, "GET", "k") == "v"
	})
}

// A server that a test left stopped must not outlive it.
func TestCleanupEndsStoppedServer(t *testing.T) {
	t.Parallel()
	var s *redistest.Server
	var pid int
	t.Run("leaves it stopped", func(t *testing.T) {
		s = redistest.Start(t)
		pid = s.PID()
		s.Stop()
	})
	if pid == 0 {
		t.Skip("no server")
	}
	if err := syscall.Kill(pid, 0); err == nil {
		t.Fatalf("process %d is alive after the test that owned it", pid)
	}
	if s.Admin().Ping(t.Context()).Err() == nil {
		t.Fatal("the server answers after the test that owned it")
	}
}

// The child must know that its parent's death is its own, or else a test that
// times out leaves servers behind.
func TestServerDiesWithParent(t *testing.T) {
	if os.Getenv("REDISTEST_CHILD") == "1" {
		s := redistest.Start(t)
		os.Stdout.WriteString("addr=" + s.Addr() + "\n")
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	redistest.Start(t) // skips the test where there is no redis-server
	// The child's directories are left behind by design; they go with t's.
	out := runSelf(t, "TestServerDiesWithParent", "REDISTEST_CHILD=1", "TMPDIR="+t.TempDir())
	_, rest, ok := strings.Cut(out, "addr=")
	if !ok {
		t.Fatalf("the child printed %q", out)
	}
	addr, _, _ := strings.Cut(rest, "\n")
	rdb := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1})
	defer rdb.Close()
	redistest.Eventually(t, 5*time.Second, "the orphan is gone", func() bool {
		return rdb.Ping(t.Context()).Err() != nil
	})
}

// Without a server tests skip with a hint, and fail where skipping is forbidden.
func TestWithoutRedisServer(t *testing.T) {
	t.Parallel()
	out := runSelf(t, "TestStartAnswers", "PATH=/nonexistent", "REDLATCH_REQUIRE_REDIS=")
	if !strings.Contains(out, "--- SKIP") || !strings.Contains(out, "install Redis") {
		t.Errorf("no skip:\n%s", out)
	}
	out = runSelf(t, "TestStartAnswers", "PATH=/nonexistent", "REDLATCH_REQUIRE_REDIS=1")
	if !strings.Contains(out, "--- FAIL") || !strings.Contains(out, "install Redis") {
		t.Errorf("no failure:\n%s", out)
	}
}

func TestServersSideBySide(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 6 {
		addr := redistest.Start(t).Addr()
		if seen[addr] {
			t.Fatalf("%s was given twice", addr)
		}
		seen[addr] = true
	}
}
