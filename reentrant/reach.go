package reentrant

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/lua"
)

// replyWithin is how long a command waits for its reply where the program has set no limit
// (ReadTimeout -1 or -2): what go-redis takes by default. None of the commands blocks.
const replyWithin = 5 * time.Second

// reach is what can be done with the program's go-redis client besides sending commands
// through it. It changes nothing about that client.
type reach struct {
	// node is the client to which commands about key go; nil if there is no telling.
	node func(ctx context.Context, key string) (node, error)

	// whole says that a command to node passes by nothing that is between the program's client
	// and Redis: neither a wrapper nor the hooks of a Cluster's client.
	whole bool

	// limit is the ReadTimeout that the program has set: 0 for none, negative if deadlines
	// must not be set or nothing is known.
	limit time.Duration
}

// node is what is used of a client of one server, or of one node of a Cluster.
type node interface {
	// WithTimeout gives one that has the same pool, other timeouts and no hooks. It must
	// not be closed: the pool would be.
	WithTimeout(timeout time.Duration) *redis.Client

	// Conn gives one that has the same hooks. It takes no connection before it needs one.
	Conn() *redis.Conn

	Options() *redis.Options
}

// reachOf asks for abilities and not for types: a wrapper that embeds its client has them too.
func reachOf(t target) reach {
	switch r := t.inner.(type) {
	case node:
		_, whole := t.rdb.(*redis.Client)
		return reach{
			node:  func(context.Context, string) (node, error) { return r, nil },
			whole: whole,
			limit: r.Options().ReadTimeout,
		}
	case interface {
		MasterForKey(ctx context.Context, key string) (*redis.Client, error)
		Options() *redis.ClusterOptions
	}:
		return reach{
			node:  func(ctx context.Context, key string) (node, error) { return r.MasterForKey(ctx, key) },
			limit: r.Options().ReadTimeout,
		}
	}
	return reach{limit: -1}
}

// single sends each command by itself, through p, and bounds the wait for its reply if
// the program has not. Where that can be, the connection is closed with it.
func (r reach) single(rdb *redis.Client, p lua.Processor) lua.Processor {
	switch {
	case r.limit > 0:
		return p
	case r.limit == 0 && rdb != nil:
		return bounded{rdb, replyWithin}
	}
	return lua.Patient(p, replyWithin)
}

// withinLease is p, with the wait for a reply bounded by the lease where that can be: a
// renewal that is answered later is of no use, and keeps a connection and Close waiting.
func (r reach) withinLease(rdb *redis.Client, p lua.Processor, lease time.Duration) lua.Processor {
	switch {
	case rdb == nil || r.limit < 0 || r.limit > 0 && r.limit <= lease:
		return p
	case r.limit == 0:
		return bounded{rdb, min(lease, replyWithin)}
	}
	return bounded{rdb, lease}
}

// pipelined is rdb, with the wait for a reply bounded as by single where that can be.
func (r reach) pipelined(rdb *redis.Client) lua.Pipelined {
	if r.limit == 0 {
		return bounded{rdb, replyWithin}
	}
	return rdb
}

// bounded is a client that waits for a reply no longer than within. The pool and the hooks
// are the client's, also those that it gets later.
type bounded struct {
	client *redis.Client
	within time.Duration
}

func (b bounded) Process(ctx context.Context, cmd redis.Cmder) error {
	return behindHooks(b.client, b.client.WithTimeout(b.within)).Process(ctx, cmd)
}

func (b bounded) Pipeline() redis.Pipeliner {
	return behindHooks(b.client, b.client.WithTimeout(b.within)).Pipeline()
}

// behindHooks is a client with the hooks of n, behind which its commands go to another. It
// takes no connection and needs not be closed.
func behindHooks(n node, to lua.Pipelined) *redis.Conn {
	conn := n.Conn()
	conn.AddHook(diversion{to}) // the innermost; those of n stay as they are
	return conn
}

// diversion is the hook that sends commands to another client.
type diversion struct{ to lua.Pipelined }

func (d diversion) DialHook(next redis.DialHook) redis.DialHook { return next }

func (d diversion) ProcessHook(redis.ProcessHook) redis.ProcessHook { return d.to.Process }

func (d diversion) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		pipe := d.to.Pipeline()
		_ = pipe.BatchProcess(ctx, cmds...) // gathers them, and cannot fail
		_, err := pipe.Exec(ctx)
		return err
	}
}

// keyOf is the first key of a script's command.
func keyOf(cmd redis.Cmder) string {
	if args := cmd.Args(); len(args) > 3 {
		key, _ := args[3].(string)
		return key
	}
	return ""
}
