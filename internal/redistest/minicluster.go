package redistest

import (
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/minired"
)

// MiniClusterClient returns a cluster client of m, which is closed with the test. Every
// node that it is told of, by MOVED for one, is m. What [MiniClient] says of bubbles holds
// here too.
func MiniClusterClient(t testing.TB, m *miniredis.Miniredis, mods ...func(*redis.ClusterOptions)) *redis.ClusterClient {
	t.Helper()
	door := minired.NewDoor(m)
	opts := &redis.ClusterOptions{
		Addrs:                    []string{minired.Addr},
		Dialer:                   door.Dial,
		PoolSize:                 minired.PoolSize,
		MaintNotificationsConfig: minired.NoNotifications(),
	}
	for _, mod := range mods {
		mod(opts)
	}
	rdb := redis.NewClusterClient(opts)
	t.Cleanup(func() {
		door.Shut()
		rdb.Close()
	})
	return rdb
}
