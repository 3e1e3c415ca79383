package redistest

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// MiniClusterClient returns a cluster client of m, which is closed with the test. Every
// node that it is told of, by MOVED for one, is m. What [MiniClient] says of bubbles holds
// here too.
func MiniClusterClient(t testing.TB, m *miniredis.Miniredis, mods ...func(*redis.ClusterOptions)) *redis.ClusterClient {
	t.Helper()
	var closed atomic.Bool
	opts := &redis.ClusterOptions{
		Addrs: []string{"127.0.0.1:6379"},
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			if closed.Load() {
				return nil, net.ErrClosed
			}
			conn, err := m.Dial()
			if err != nil {
				return nil, err
			}
			return newBufferedConn(conn), nil
		},
		PoolSize:                 1024,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	for _, mod := range mods {
		mod(opts)
	}
	rdb := redis.NewClusterClient(opts)
	t.Cleanup(func() {
		closed.Store(true)
		rdb.Close()
	})
	return rdb
}
