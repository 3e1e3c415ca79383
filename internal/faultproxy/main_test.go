package faultproxy_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/leaktest"
	"github.com/redlatch/redlatch/internal/redistest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// rig is a server with a proxy before it. Its Do goes around the proxy.
type rig struct {
	*redistest.Server
	proxy *faultproxy.Proxy
}

func newRig(t *testing.T) rig {
	t.Helper()
	s := redistest.Start(t)
	return rig{Server: s, proxy: faultproxy.Start(t, s.Addr())}
}

// client goes through the proxy with go-redis' defaults, retries among them.
func (r rig) client(t *testing.T, mods ...func(*redis.Options)) *redis.Client {
	t.Helper()
	return r.Client(t, append(mods, func(o *redis.Options) { o.Addr = r.proxy.Addr() })...)
}

func noRetry(o *redis.Options) { o.MaxRetries = -1 }

// impatient is for replies that never come. It leaves a busy machine time for a
// handshake: go-redis does not retry one that timed out.
func impatient(o *redis.Options) { o.ReadTimeout = 500 * time.Millisecond }

// warm opens the connection, so that the rules that follow meet no handshake.
func warm(t *testing.T, rdb *redis.Client) {
	t.Helper()
	if err := rdb.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}
