//go:build unix

package peer

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// The bare scripts show what two round trips through go-redis cost without a lock
// library around them. They wait for nobody, so they only run where each goroutine
// has a lock of its own.
var (
	bareEmpty = Peer{
		Name:     "evalsha-empty",
		Settings: "two EVALSHA through go-redis of a script that does nothing",
		Special:  true,
		Unsafe:   true,
		Open:     bare{redis.NewScript(`return 1`), redis.NewScript(`return 1`)}.open,
	}
	bareSet = Peer{
		Name:     "evalsha-set",
		Settings: "two EVALSHA through go-redis: SET NX PX, and DEL if the value is ours",
		Special:  true,
		Open: bare{
			redis.NewScript(`return redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2], 'nx')`),
			redis.NewScript(`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end
return 0`),
		}.open,
	}
)

type bare struct{ take, give *redis.Script }

type bareClient struct {
	bare
	rdb *redis.Client
}

func (b bare) open(addr string) (Client, error) {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	for _, script := range []*redis.Script{b.take, b.give} {
		if err := script.Load(context.Background(), rdb).Err(); err != nil {
			rdb.Close()
			return nil, err
		}
	}
	return bareClient{bare: b, rdb: rdb}, nil
}

func (c bareClient) Lock(name string) Lock {
	return bareLock{client: c, keys: []string{name}}
}

func (c bareClient) Close() error { return c.rdb.Close() }

type bareLock struct {
	client bareClient
	keys   []string
}

const bareOwner, bareLease = "owner", 30000

func (l bareLock) Acquire(ctx context.Context) error {
	return l.client.take.EvalSha(ctx, l.client.rdb, l.keys, bareOwner, bareLease).Err()
}

func (l bareLock) Release(ctx context.Context) error {
	return l.client.give.EvalSha(ctx, l.client.rdb, l.keys, bareOwner).Err()
}
