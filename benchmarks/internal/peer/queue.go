//go:build unix

package peer

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// The bare queue shows the least that first come, first served costs between processes through go-redis: one
// trip to line up, one to release, and a message to the next. It is no lock to use: a waiter that dies stops
// everybody behind it, nothing is renewed, and nothing is repeated.
var bareQueue = Peer{
	Name:     "queue-bare",
	Settings: "two EVALSHA and a message through go-redis: SET NX PX or RPUSH, and LPOP, SET and PUBLISH; no renewal, no dead waiters, no repetition",
	Special:  true,
	Open:     openQueue,
}

var (
	queueTake = redis.NewScript(`if redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2]) then return 1 end
redis.call('rpush', KEYS[2], ARGV[1])
return 0`)
	queueGive = redis.NewScript(`local next = redis.call('lpop', KEYS[2])
if not next then return redis.call('del', KEYS[1]) end
redis.call('set', KEYS[1], next, 'px', ARGV[1])
return redis.call('publish', next, '1')`)
)

type queueClient struct{ rdb *redis.Client }

func openQueue(addr string) (Client, error) {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	for _, script := range []*redis.Script{queueTake, queueGive} {
		if err := script.Load(context.Background(), rdb).Err(); err != nil {
			rdb.Close()
			return nil, err
		}
	}
	return queueClient{rdb}, nil
}

func (c queueClient) Close() error { return c.rdb.Close() }

func (c queueClient) Lock(name string) Lock {
	return &queueLock{rdb: c.rdb, keys: []string{name, name + ":queue"}, me: name + ":" + rand.Text()}
}

type queueLock struct {
	rdb   *redis.Client
	keys  []string
	me    string // also the channel
	turns <-chan *redis.Message
}

func (l *queueLock) Acquire(ctx context.Context) error {
	if l.turns == nil {
		sub := l.rdb.Subscribe(context.Background(), l.me) // ends with the client
		if _, err := sub.Receive(ctx); err != nil {
			return err
		}
		l.turns = sub.Channel()
	}
	if got, err := queueTake.EvalSha(ctx, l.rdb, l.keys, l.me, bareLease).Int(); err != nil || got == 1 {
		return err
	}
	select {
	case <-l.turns:
		return nil
	case <-ctx.Done():
		return l.leave(ctx)
	}
}

// leave takes a waiter out of the queue. If its turn came at this very moment, the next one has it.
func (l *queueLock) leave(ctx context.Context) error {
	removed, err := l.rdb.LRem(context.Background(), l.keys[1], 1, l.me).Result()
	switch {
	case err != nil:
		return fmt.Errorf("leave: %w", err)
	case removed == 0:
		<-l.turns
		if err := l.Release(context.Background()); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (l *queueLock) Release(ctx context.Context) error {
	return queueGive.EvalSha(ctx, l.rdb, l.keys, bareLease).Err()
}
