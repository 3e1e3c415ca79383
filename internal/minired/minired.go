// Package minired is a Redis inside the process: a miniredis, and connections to it without a socket. Both work
// inside a testing/synctest bubble.
//
// miniredis is not Redis. The differences that matter to lock scripts are pinned down in
// internal/redistest/parity_test.go. The main ones: an error raised by redis.call loses its code, numbers from
// 1e14 on turn into strings differently, and there is no sharded pub/sub, ACL, CONFIG, replication or refusal for
// want of memory.
package minired

import (
	"context"
	"net"
	"sync/atomic"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/redlatch/redlatch/internal/memconn"
)

// New makes a server whose keys expire as time passes: the bubble's time inside a bubble, the wall clock's
// outside. It has no address. The caller closes it, behind all clients.
func New() *miniredis.Miniredis {
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	return m
}

// Addr is never dialled. With a name in its place go-redis would ask the resolver, whose goroutines belong to no
// bubble.
const Addr = "127.0.0.1:6379"

// PoolSize is so large that no call of a test queues for a connection. go-redis shares the timers of calls that
// queue between all clients of a process, and one made in a bubble panics in the next.
const PoolSize = 1024

// NoNotifications are the settings with which a client does not ask the server to announce its maintenance.
func NoNotifications() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// Options are those of a client that connects by dial.
func Options(dial func(ctx context.Context, network, addr string) (net.Conn, error)) *redis.Options {
	return &redis.Options{Addr: Addr, Dialer: dial, PoolSize: PoolSize, MaintNotificationsConfig: NoNotifications()}
}

// Door is a way to a server that can be shut.
type Door struct {
	to   *miniredis.Miniredis
	shut atomic.Bool
}

// NewDoor makes an open one.
func NewDoor(to *miniredis.Miniredis) *Door { return &Door{to: to} }

// Shut makes every later Dial fail. A dial starts a closed miniredis anew, with its data; a subscription that
// reconnects at the end of a test must not do that.
func (d *Door) Shut() { d.shut.Store(true) }

// Dial connects to the server. It is the Dialer of a client's options.
func (d *Door) Dial(context.Context, string, string) (net.Conn, error) {
	if d.shut.Load() {
		return nil, net.ErrClosed
	}
	conn, err := d.to.Dial()
	if err != nil {
		return nil, err
	}
	return memconn.Buffer(conn), nil
}
