//go:build unix

package peer

import (
	"context"
	"math"

	"github.com/go-redsync/redsync/v4"
	redsyncgoredis "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// Its 32 tries would give up after some 5 s, with an error that most programs do not
// expect from a lock; the README says nothing about waiting. All else is the default.
var redsyncPeer = Peer{
	Name:     "redsync",
	Settings: "defaults (lease 8 s, tries again after 50 to 250 ms), but tries without end: WithTries(math.MaxInt32) for 32",
	Open:     openRedsync,
}

type redsyncClient struct {
	rdb *redis.Client
	rs  *redsync.Redsync
}

func openRedsync(addr string) (Client, error) {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	return redsyncClient{rdb: rdb, rs: redsync.New(redsyncgoredis.NewPool(rdb))}, nil
}

func (c redsyncClient) Lock(name string) Lock {
	return redsyncLock{c.rs.NewMutex(name, redsync.WithTries(math.MaxInt32))}
}

func (c redsyncClient) Close() error { return c.rdb.Close() }

type redsyncLock struct{ m *redsync.Mutex }

func (l redsyncLock) Acquire(ctx context.Context) error { return l.m.LockContext(ctx) }

func (l redsyncLock) Release(ctx context.Context) error {
	_, err := l.m.UnlockContext(ctx)
	return err
}
