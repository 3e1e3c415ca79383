package reentrant

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redisio"
	"github.com/redlatch/redlatch/lua"
)

// replyWithin is how long a command waits for its reply where the program has set no limit (ReadTimeout
// -1 or -2). go-redis waits as long by default. None of the commands blocks.
const replyWithin = 5 * time.Second

// reach is what the Client can do with the program's go-redis client besides sending commands through it.
// It changes nothing about that client.
type reach struct {
	// node finds the client to which commands about key go; nil if the Client cannot know it.
	node redisio.NodeOf

	// whole says that a command to node leaves out nothing that is between the program's client and
	// Redis: neither a wrapper nor the hooks of a Cluster's client.
	whole bool

	// limit is the ReadTimeout that the program has set: 0 for none, negative if the Client must not set
	// deadlines or knows nothing.
	limit time.Duration
}

// reachOf asks for abilities and not for types: a wrapper that embeds its client has them too.
func reachOf(t target) reach {
	switch r := t.inner.(type) {
	case redisio.Node:
		_, whole := t.rdb.(*redis.Client)
		return reach{
			node:  func(context.Context, string) (redisio.Node, error) { return r, nil },
			whole: whole,
			limit: r.Options().ReadTimeout,
		}
	case interface {
		MasterForKey(ctx context.Context, key string) (*redis.Client, error)
		Options() *redis.ClusterOptions
	}:
		return reach{
			node:  func(ctx context.Context, key string) (redisio.Node, error) { return r.MasterForKey(ctx, key) },
			limit: r.Options().ReadTimeout,
		}
	}
	return reach{limit: -1}
}

// single sends each command by itself, through p. It bounds the wait for the reply if the program has not
// done so. Where possible, the connection is closed at that bound.
func (r reach) single(rdb *redis.Client, p lua.Processor) lua.Processor {
	switch {
	case r.limit > 0:
		return p
	case r.limit == 0 && rdb != nil:
		return bounded{rdb, replyWithin}
	}
	return lua.Patient(p, replyWithin)
}

// withinLease is p, with the wait for a reply bounded by the lease where possible. A renewal that is
// answered later is of no use, and keeps a connection and Close waiting.
func (r reach) withinLease(rdb *redis.Client, p lua.Processor, lease time.Duration) lua.Processor {
	switch {
	case rdb == nil || r.limit < 0 || r.limit > 0 && r.limit <= lease:
		return p
	case r.limit == 0:
		return bounded{rdb, min(lease, replyWithin)}
	}
	return bounded{rdb, lease}
}

// pipelined is rdb. Where possible it bounds the wait for a reply as single does.
func (r reach) pipelined(rdb *redis.Client) redisio.Pipelined {
	if r.limit == 0 {
		return bounded{rdb, replyWithin}
	}
	return rdb
}

// bounded is a client that waits for a reply no longer than within. It has the pool and the hooks of the
// client, also the hooks that the client gets later.
type bounded struct {
	client *redis.Client
	within time.Duration
}

func (b bounded) Process(ctx context.Context, cmd redis.Cmder) error {
	return redisio.BehindHooks(b.client, b.client.WithTimeout(b.within)).Process(ctx, cmd)
}

func (b bounded) Pipeline() redis.Pipeliner {
	return redisio.BehindHooks(b.client, b.client.WithTimeout(b.within)).Pipeline()
}

// askable finds the nodes whose idle connections can be asked for a sign of life. It is nil where the
// Client must not set a limit for that.
func (r reach) askable() redisio.NodeOf {
	if r.limit < 0 {
		return nil
	}
	return r.node
}

// detours are the way past the pool; nil if there is none.
func (r reach) detours() *redisio.Detours {
	if r.node == nil {
		return nil
	}
	return redisio.NewDetours(r.node, replyWithin, r.limit >= 0)
}

// timedOut reports whether a command was sent and not answered in time.
func timedOut(err error) bool {
	if err == nil {
		return false // before the allocation that errors.As needs
	}
	var network net.Error
	return lua.Unknown(err) && (errors.Is(err, lua.ErrNoReply) || errors.As(err, &network) && network.Timeout())
}
