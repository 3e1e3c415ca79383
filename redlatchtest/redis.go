package redlatchtest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/minired"
	"github.com/redlatch/redlatch/reentrant"
)

// patience bounds each call that the package makes for a test.
const patience = 5 * time.Second

// Redis is a Redis in the test's process, and what a test can do to it. Of Refuse, Silence, Slow, DelayGrants and
// DropReplies the last one is in force, until Answer. They concern all Clients.
//
// The methods may be called from any goroutine, except those that say that they stop the test: they need the test's
// own.
type Redis struct {
	t     testing.TB
	mini  *miniredis.Miniredis
	proxy *faultproxy.Proxy // the way of Clients to mini

	direct  *redis.Client     // another way, on which there are no faults
	another *reentrant.Client // goes it; the process of HoldByAnother

	mu   sync.Mutex
	rule *faultproxy.RuleHandle // guarded by mu; the fault in force, nil for none and for Silence
}

// New starts a Redis, which ends with the test. Inside a testing/synctest bubble, call it there, with the bubble's t.
func New(t testing.TB) *Redis {
	t.Helper()
	r := &Redis{t: t, mini: minired.New()}
	t.Cleanup(r.mini.Close)
	door := minired.NewDoor(r.mini)
	t.Cleanup(door.Shut)
	r.proxy = faultproxy.Inside(t, door.Dial)
	r.direct = redis.NewClient(minired.Options(door.Dial))
	t.Cleanup(func() { r.direct.Close() })
	r.another = r.newClient(r.direct, reentrant.WithLogger(nil))
	t.Cleanup(func() { abandon(r.another) })
	return r
}

// Client makes a Client of its own, on a connection pool of its own, as another process has it. It is closed with
// the test. The test fails if the Client still holds a lock then, which was not lost, and does not release it within
// 1 s; the error names the locks. All that [Redis.Answer] ends is ended before.
//
// An option that is not allowed stops the test.
func (r *Redis) Client(opts ...reentrant.Option) *reentrant.Client {
	r.t.Helper()
	c := r.newClient(r.RedisClient(), opts...)
	r.t.Cleanup(func() { r.end(c) })
	return c
}

// RedisClient makes a go-redis client, for code that makes its Client itself. It is closed with the test. mods
// change its options; they must leave the Dialer as it is, and the pool so large that no call waits for a connection.
// Nothing looks for locks that are left by a Client on it.
func (r *Redis) RedisClient(mods ...func(*redis.Options)) *redis.Client {
	opts := minired.Options(r.proxy.Dial)
	for _, mod := range mods {
		mod(opts)
	}
	rdb := redis.NewClient(opts)
	r.t.Cleanup(func() { rdb.Close() })
	return rdb
}

func (r *Redis) newClient(rdb *redis.Client, opts ...reentrant.Option) *reentrant.Client {
	r.t.Helper()
	c, err := reentrant.New(rdb, opts...)
	if err != nil {
		r.t.Fatalf("redlatchtest: making a Client: %v", err)
	}
	return c
}

// limited is a ctx for a call that the package makes for the test. The test's own ctx ends before its clean-ups.
func limited(t testing.TB) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(t.Context()), patience)
}
