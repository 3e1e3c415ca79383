//go:build unix

package peer

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// variant is Redlatch with some of its options.
type variant struct {
	name     string
	settings string
	options  []reentrant.Option
	special  bool
	members  int // of a MultiLock; 0 is a single lock
	kind     kind
}

// variants has a line for each mode of Redlatch that is measured.
var variants = []variant{
	{name: "redlatch", settings: "defaults: confirmed hand-off, lease 30 s, renewed"},
	{
		name: "redlatch-write-behind", settings: "write-behind hand-off, lease 30 s, renewed", special: true,
		options: []reentrant.Option{reentrant.WithHandoff(reentrant.WriteBehind)},
	},
	{name: "redlatch-multilock-2", settings: "multilock.New of two plain locks on one Client", members: 2, special: true},
	{name: "redlatch-multilock-3", settings: "the same, of three", members: 3, special: true},
	{name: "redlatch-fair", settings: "NewFairLock, defaults", kind: fair, special: true},
	{name: "redlatch-read", settings: "NewReadWriteLock, defaults, all read", kind: reading, special: true},
	{name: "redlatch-write", settings: "the same, all write", kind: writing, special: true},
	{name: "redlatch-read-write", settings: "the same, some goroutines read and some write", kind: twoSided, special: true},
}

// Members are the names of the locks that a peer's lock of that name is made of: the
// name itself unless it is a MultiLock.
func Members(peer, name string) []string {
	for _, v := range variants {
		if v.name == peer && v.members > 0 {
			return v.memberNames(name)
		}
	}
	return []string{name}
}

func (v variant) memberNames(name string) (names []string) {
	for i := range v.members {
		names = append(names, fmt.Sprintf("%s:member:%d", name, i))
	}
	return names
}

// OpenPlain is a Client of Redlatch with its defaults.
func OpenPlain(addr string) (Client, error) { return variant{}.open(addr) }

func (v variant) peer() Peer {
	return Peer{Name: v.name, Settings: v.settings, Ours: true, Special: v.special, Open: v.open}
}

type redlatchClient struct {
	variant
	rdb   *redis.Client
	locks *reentrant.Client
}

func (v variant) open(addr string) (Client, error) {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	locks, err := reentrant.New(rdb, v.options...)
	if err != nil {
		rdb.Close()
		return nil, err
	}
	return &redlatchClient{variant: v, rdb: rdb, locks: locks}, nil
}

func (c *redlatchClient) Lock(name string) Lock {
	if c.members == 0 {
		return c.single(name)
	}
	var members []multilock.Locker
	for _, member := range c.memberNames(name) {
		members = append(members, c.locks.NewLock(member))
	}
	all, err := multilock.New(members...)
	if err != nil {
		panic(err) // the names differ, and there are some
	}
	return redlatchLock{all}
}

func (c *redlatchClient) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := c.locks.Close(ctx)
	c.rdb.Close()
	return err
}

// redlatchLock's owner is the goroutine, Redlatch's default.
type redlatchLock struct {
	l interface {
		Lock(context.Context) error
		Unlock(context.Context) error
	}
}

func (l redlatchLock) Acquire(ctx context.Context) error { return l.l.Lock(ctx) }
func (l redlatchLock) Release(ctx context.Context) error { return l.l.Unlock(ctx) }
