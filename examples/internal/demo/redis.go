package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/lua"
	"github.com/redlatch/redlatch/reentrant"
)

// Redis is the server of an example.
type Redis struct {
	*redis.Client
	URL      string // by which other processes reach it
	Embedded *miniredis.Miniredis
}

// Open connects to the server at redisURL or, if that is empty, to a miniredis inside
// this process, which listens on loopback. It returns when the server has answered.
func Open(ctx context.Context, redisURL string) (*Redis, error) {
	r := &Redis{URL: redisURL}
	if redisURL == "" {
		server, err := miniredis.Run()
		if err != nil {
			return nil, err
		}
		server.ClockTTL(true) // keys expire as time passes, as they do in Redis
		r.URL, r.Embedded = "redis://"+server.Addr(), server
	}
	opts, err := redis.ParseURL(r.URL)
	if err != nil {
		return nil, fmt.Errorf("REDIS_URL: %w", err)
	}
	r.Client = redis.NewClient(opts)
	if err := r.Ping(ctx).Err(); err != nil {
		return nil, errors.Join(fmt.Errorf("no answer from Redis: %w", err), r.Close())
	}
	return r, nil
}

// Close closes the client, and the server if it is this process's own.
func (r *Redis) Close() error {
	err := r.Client.Close()
	if r.Embedded != nil {
		r.Embedded.Close()
	}
	return err
}

// String says where it is, for the first line of an example.
func (r *Redis) String() string {
	if r.Embedded != nil {
		return "an embedded miniredis (set REDIS_URL to use a server)"
	}
	return "the Redis server of REDIS_URL"
}

// Leave closes a Client and removes what it may have left of the locks at these keys:
// held ones if the example was interrupted, and keys that would expire by themselves or,
// as fencing counters, never. A program does not do that; it calls Close, and other
// processes use the same locks. It is not ended by ctx.
func (r *Redis) Leave(ctx context.Context, client *reentrant.Client, keys ...string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(client.Close(ctx), r.Forget(ctx, client.ID(), keys...))
}

// Forget is Leave for a Client that cannot be closed, since its process is gone. The
// locks may be of any kind.
func (r *Redis) Forget(ctx context.Context, clientID string, keys ...string) error {
	var all []string
	for _, key := range keys {
		k := lua.KeysOf(key, clientID)
		all = append(all, k.Lock, k.Epoch(), k.Turn(), k.Waiters(), k.Token(),
			k.Queue(), k.Timeouts(), k.Line(), // of a fair lock
			k.Readers(), k.Barrier()) // of a read-write lock
	}
	return r.Del(context.WithoutCancel(ctx), all...).Err()
}
