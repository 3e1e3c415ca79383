package redisio

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// Node is what is used of a client of one server, or of one node of a Cluster.
type Node interface {
	// WithTimeout gives one that has the same pool, other timeouts and no hooks. It must
	// not be closed: the pool would be.
	WithTimeout(timeout time.Duration) *redis.Client

	// Conn gives one that has the same hooks. It takes no connection before it needs one.
	Conn() *redis.Conn

	Options() *redis.Options
}

// NodeOf finds the client to which commands about key go.
type NodeOf func(ctx context.Context, key string) (Node, error)

// BehindHooks is a client with the hooks of n, behind which its commands go to another. It
// takes no connection and needs not be closed.
func BehindHooks(n Node, to Pipelined) *redis.Conn {
	conn := n.Conn()
	conn.AddHook(diversion{to}) // the innermost; those of n stay as they are
	return conn
}

// diversion is the hook that sends commands to another client.
type diversion struct{ to Pipelined }

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

// keyOf is the first key of a script's command, EVAL or EVALSHA.
func keyOf(cmd redis.Cmder) string {
	if args := cmd.Args(); len(args) > 3 {
		key, _ := args[3].(string)
		return key
	}
	return ""
}
