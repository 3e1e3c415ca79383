package reentrant

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redisio"
	"github.com/redlatch/redlatch/lua"
)

// replicaAcks sends the command that grants a lock. If the Client wants that, it asks on the same
// connection how many replicas have the lock.
type replicaAcks struct {
	c    *Client
	key  string
	acks int
}

func (c *Client) replicaAcks(key string) *replicaAcks { return &replicaAcks{c: c, key: key} }

// Process implements [lua.Processor].
func (a *replicaAcks) Process(ctx context.Context, cmd redis.Cmder) error {
	if a.c.cfg.replicas == 0 {
		return a.c.commands.Process(ctx, cmd)
	}
	pipe, err := a.pipeline(ctx)
	if err != nil {
		cmd.SetErr(err)
		return err
	}
	a.acks, err = redisio.ProcessAndWait(ctx, pipe, cmd, a.c.cfg.replicas, a.c.cfg.ackWithin)
	a.c.reload.Learn(ctx, err) // in a Cluster go-redis does not: the command was for one node
	return err
}

// pipeline is a pipeline to the node that has the key. A cluster client would send WAIT, which has no
// key, to any node.
func (a *replicaAcks) pipeline(ctx context.Context) (redis.Pipeliner, error) {
	if cluster := a.c.cluster; cluster != nil {
		node, err := cluster.MasterForKey(ctx, a.key)
		if err != nil {
			return nil, err
		}
		return node.Pipeline(), nil
	}
	if rdb, ok := a.c.rdb.(*redis.Client); ok && a.c.reach.limit == 0 {
		return bounded{rdb, replyWithin + a.c.cfg.ackWithin}.Pipeline(), nil
	}
	return a.c.rdb.Pipeline(), nil
}

// missing is the error for a lock that too few replicas have confirmed, after the last command; nil if
// enough have.
func (a *replicaAcks) missing(name string) error {
	if a.acks >= a.c.cfg.replicas {
		return nil
	}
	return &ReplicasError{Name: name, Want: a.c.cfg.replicas, Got: a.acks}
}

// wakeUp says how a release passes the lock on to the next waiter. In a cluster PUBLISH counts the subscribers of one
// node only, so its 0 says nothing. SPUBLISH counts all subscribers: they are at the node that has the
// lock.
func (c *Client) wakeUp() lua.Wake {
	switch {
	case c.hub.Sharded():
		return wakeSharded
	case c.cluster != nil:
		return wakeUncounted
	}
	return wakeCounted
}

var (
	wakeCounted   = lua.NewWake("PUBLISH", turnTTL, yieldTTL, true)
	wakeUncounted = lua.NewWake("PUBLISH", turnTTL, yieldTTL, false)
	wakeSharded   = lua.NewWake("SPUBLISH", turnTTL, yieldTTL, true)
)

// yieldTTL is how long a free lock is kept from Go clients while clients of Redisson wait. It must be
// longer than the message takes to a JVM and its answer takes back.
const yieldTTL = 10 * time.Millisecond

// turnTTL is how long a free lock is kept for the waiter that was woken. It must be longer than the
// message and its answer take. If the woken process is stopped, all other clients wait that long, once.
const turnTTL = 100 * time.Millisecond
