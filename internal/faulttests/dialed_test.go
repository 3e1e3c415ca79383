package faulttests

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// Redis was away for long enough that go-redis does not dial any more but asks once a second
// whether it is back, and answers every command with the last error until then. Redis is back, and
// a Lock that is called before go-redis has found that out waits for it; also on a lease that is
// shorter than that.
func TestFaultLockWhileNothingIsDialed(t *testing.T) {
	t.Parallel()
	const connections = 2
	r := newFaultRig(t)
	var refused atomic.Int64
	rdb := r.through(t, func(o *redis.Options) {
		o.PoolSize, o.MaxRetries, o.DialerRetries = connections, -1, 1
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err != nil {
				refused.Add(1)
			}
			return conn, err
		}
	})
	c := faultClient(t, rdb, reentrant.WithLease(500*time.Millisecond))
	r.proxy.Refuse(true)
	for range connections {
		if err := rdb.Ping(t.Context()).Err(); err == nil {
			t.Fatal("a proxy that refuses has answered")
		}
	}
	redistest.Eventually(t, 5*time.Second, "go-redis has asked for the first time", func() bool { return refused.Load() == connections+1 })
	r.proxy.Refuse(false)
	if err := rdb.Ping(t.Context()).Err(); err == nil {
		t.Fatal("go-redis has dialed: this tests nothing any more")
	}
	l, ctx := c.NewLock("l"), owner(t.Context(), "me")
	must(t, l.Lock(ctx))
	must(t, l.Unlock(ctx))
}
