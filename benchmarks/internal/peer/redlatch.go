package peer

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/reentrant"
)

// variant is Redlatch with some of its options.
type variant struct {
	name      string
	settings  string
	options   []reentrant.Option
	pipelined bool // through go-redis' AutoPipeline
	special   bool
}

// variants has a line for each mode of Redlatch that is measured.
var variants = []variant{
	{name: "redlatch", settings: "defaults: confirmed hand-off, lease 30 s, renewed"},
	{
		name: "redlatch-write-behind", settings: "write-behind hand-off, lease 30 s, renewed", special: true,
		options: []reentrant.Option{reentrant.WithHandoff(reentrant.WriteBehind)},
	},
	{name: "redlatch-pipelined", settings: "the same, on go-redis' AutoPipeline with its defaults", pipelined: true, special: true},
}

func (v variant) peer() Peer {
	return Peer{Name: v.name, Settings: v.settings, Ours: true, Special: v.special, Open: v.open}
}

type redlatchClient struct {
	rdb   *redis.Client
	locks *reentrant.Client
}

func (v variant) open(addr string) (Client, error) {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	var on redis.UniversalClient = rdb
	if v.pipelined {
		pipeline, err := rdb.AutoPipeline()
		if err != nil {
			rdb.Close()
			return nil, err
		}
		on = pipeline
	}
	locks, err := reentrant.New(on, v.options...)
	if err != nil {
		rdb.Close()
		return nil, err
	}
	return &redlatchClient{rdb: rdb, locks: locks}, nil
}

func (c *redlatchClient) Lock(name string) Lock { return redlatchLock{c.locks.NewLock(name)} }

func (c *redlatchClient) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := c.locks.Close(ctx)
	c.rdb.Close()
	return err
}

// redlatchLock's owner is the goroutine, Redlatch's default.
type redlatchLock struct{ l *reentrant.Lock }

func (l redlatchLock) Acquire(ctx context.Context) error { return l.l.Lock(ctx) }
func (l redlatchLock) Release(ctx context.Context) error { return l.l.Unlock(ctx) }
