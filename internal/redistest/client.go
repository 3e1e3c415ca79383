package redistest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// adminTimeout bounds each command of the admin connection, so that a test that
// talks to a stopped server fails and does not hang.
const adminTimeout = 10 * time.Second

// Client returns a client of the server with go-redis' defaults, as a user has
// it, after mods have changed what they like. It is closed with the test.
func (s *Server) Client(t testing.TB, mods ...func(*redis.Options)) *redis.Client {
	t.Helper()
	opts := &redis.Options{Addr: s.Addr()}
	for _, mod := range mods {
		mod(opts)
	}
	rdb := redis.NewClient(opts)
	t.Cleanup(func() { rdb.Close() })
	return rdb
}

// Do runs one command on a connection that only tests use, and returns the reply
// as RESP2 has it: string, int64, []any, or nil. An error fails the test.
func (s *Server) Do(t testing.TB, args ...any) any {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	v, err := s.admin.Do(ctx, args...).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatalf("redistest: %v on %s: %v", args, s.Addr(), err)
	}
	return v
}

// Admin is the client behind Do, for commands that may fail. It never retries.
func (s *Server) Admin() *redis.Client { return s.admin }

// newAdmin makes a client that adds nothing of its own to what the server sees:
// no handshake, no retry, no second try to connect.
func newAdmin(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr:                  addr,
		Protocol:              2,
		DisableIdentity:       true,
		MaxRetries:            -1,
		DialerRetries:         1,
		DialTimeout:           time.Second,
		ReadTimeout:           adminTimeout,
		ContextTimeoutEnabled: true,
		PoolSize:              4,
	})
}
