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

// Mini starts a miniredis and a client of it, both of which end with the test.
// They share this process and no socket, so both work inside a testing/synctest
// bubble; call Mini inside it, with the bubble's t.
//
// Keys expire as time passes: the bubble's time inside one, the wall clock's
// outside. The server has no address; further clients come from [MiniClient].
//
// miniredis is not Redis. The differences that matter to lock scripts are pinned
// down in parity_test.go. The main ones: an error raised by redis.call loses its
// code, numbers from 1e14 on turn into strings differently, and there is no sharded
// pub/sub, ACL, CONFIG, replication or refusal for want of memory.
//
// A dial after m.Close starts m again, with its data.
func Mini(t testing.TB) (*miniredis.Miniredis, *redis.Client) {
	t.Helper()
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	t.Cleanup(m.Close)
	return m, MiniClient(t, m)
}

// MiniClient returns one more client of m, which is closed with the test.
func MiniClient(t testing.TB, m *miniredis.Miniredis, mods ...func(*redis.Options)) *redis.Client {
	t.Helper()
	var closed atomic.Bool
	opts := &redis.Options{
		// Never dialled. A name here would make go-redis ask the resolver,
		// whose goroutines belong to no bubble.
		Addr: "127.0.0.1:6379",
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			// A dial starts a closed miniredis anew; a subscription that
			// reconnects at the end of a test must not do that.
			if closed.Load() {
				return nil, net.ErrClosed
			}
			conn, err := m.Dial()
			if err != nil {
				return nil, err
			}
			return newBufferedConn(conn), nil
		},
		// go-redis shares the timers of calls that queue for a connection
		// between all clients of a process. One made in a bubble panics in the
		// next, so nobody may ever queue.
		PoolSize:                 1024,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	for _, mod := range mods {
		mod(opts)
	}
	rdb := redis.NewClient(opts)
	t.Cleanup(func() {
		closed.Store(true)
		rdb.Close()
	})
	return rdb
}
