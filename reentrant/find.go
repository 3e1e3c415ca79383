package reentrant

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/preflight"
	"github.com/redlatch/redlatch/lua"
)

// scanPage is how many keys Redis looks at for one SCAN. With 100 other clients' p99 stays below a millisecond beside a
// million keys, with 1000 it is 2 ms and more.
const scanPage = 100

// Locks iterates over the names of the locks under the Client's prefix that any client of Redlatch or Redisson holds now.
// They match the pattern, a glob of Redis ("order:*"). It has no order. A lock that is taken or freed meanwhile may be left
// out, and none comes twice. [Client.Inspect] tells more of each.
//
// Locks looks at all keys of the database, 100 at a time, and only as fast as the caller takes the names. A million keys
// take a few seconds, with no more than a millisecond for any other client. [Client.Contended] costs far less where only
// locks matter that somebody waits for. Of the hashes that match it reads up to two fields each, to tell locks from others.
//
// The Redis user needs +scan and +hrandfield besides what locks need; without them the error is [ErrPermission]. An error
// ends the iteration: an error of ctx, [ErrClosed], or an error of Redis. In a Cluster it looks at each master in turn.
func (c *Client) Locks(ctx context.Context, pattern string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		seen := make(map[string]bool)
		nodes, err := c.nodes(ctx, false)
		for _, n := range nodes {
			if err != nil {
				break
			}
			var more bool
			if more, err = c.locksAt(ctx, n, pattern, seen, yield); !more {
				break
			}
		}
		if err != nil {
			yield("", err)
		}
	}
}

// locksAt yields the locks of one node. It reports false once the caller wants no more.
func (c *Client) locksAt(ctx context.Context, n *node, pattern string, seen map[string]bool, yield func(string, error) bool) (more bool, err error) {
	match := lua.Literal(c.cfg.prefix) + pattern
	for cursor := uint64(0); ; {
		page, err := ofNode(ctx, c, n, func(ctx context.Context) (page lockPage, err error) {
			return readLockPage(ctx, n, match, cursor)
		})
		if err != nil {
			return false, err
		}
		for _, key := range page.keys {
			name, ours := strings.CutPrefix(key, c.cfg.prefix)
			if !ours || seen[name] || checkName(c.cfg.prefix, name) != nil {
				continue
			}
			seen[name] = true
			if !yield(name, nil) {
				return false, nil
			}
		}
		if cursor = page.next; cursor == 0 {
			return true, nil
		}
	}
}

// lockPage is what one SCAN has found.
type lockPage struct {
	keys []string // of locks
	next uint64
}

func readLockPage(ctx context.Context, n *node, match string, cursor uint64) (lockPage, error) {
	keys, next, err := n.ScanType(ctx, cursor, match, scanPage, "hash").Result()
	if err != nil || len(keys) == 0 {
		return lockPage{next: next}, err
	}
	pipe := n.Pipeline()
	fields := make([]*redis.StringSliceCmd, len(keys))
	for i, key := range keys {
		fields[i] = pipe.HRandField(ctx, key, 2) // HKEYS of another program's hash could be of any size
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	page := lockPage{next: next}
	for i, key := range keys {
		switch what, _ := preflight.DenialOf(fields[i].Err()); {
		case what == preflight.Command:
			return page, fields[i].Err()
		case isLock(fields[i].Val()): // an error is a key's that has gone, or has moved to another node
			page.keys = append(page.keys, key)
		}
	}
	return page, nil
}

// isLock reports whether some fields of a hash are those of a lock.
func isLock(fields []string) bool {
	owners := 0
	for _, field := range fields {
		owner, _ := rwPartyOf(field)
		switch {
		case owner.From != FromUnknown:
			owners++
		case field != "mode":
			return false
		}
	}
	return owners > 0
}

// Contended returns the names of the locks under the Client's prefix that somebody waits for, or did a moment ago, in order.
// Clients of Redlatch and of Redisson that wait have subscribed to a channel of the lock, on which they hear that it is
// free. It takes a millisecond or so at any number of keys. A waiter whose Redis user may not subscribe is not found. Of a
// lock named "{a}" it says "a", which has the same channels.
//
// The Redis user needs +pubsub|channels, and with sharded pub/sub +pubsub|shardchannels; without them the error is
// [ErrPermission]. Otherwise it is an error of ctx, [ErrClosed], or an error of Redis. In a Cluster it asks each node.
func (c *Client) Contended(ctx context.Context) ([]string, error) {
	nodes, err := c.nodes(ctx, true)
	if err != nil {
		return nil, err
	}
	found := make(map[string]bool)
	for _, n := range nodes {
		channels, err := ofNode(ctx, c, n, func(ctx context.Context) ([]string, error) {
			return channelsAt(ctx, n, lua.ChannelPatterns(c.cfg.prefix), c.cluster != nil)
		})
		if err != nil {
			return nil, err
		}
		for _, channel := range channels {
			name, ours := strings.CutPrefix(lua.LockOfChannel(channel), c.cfg.prefix)
			if ours && checkName(c.cfg.prefix, name) == nil {
				found[name] = true
			}
		}
	}
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

// channelsAt are the channels with subscribers at one node.
func channelsAt(ctx context.Context, n *node, patterns []string, sharded bool) (all []string, err error) {
	pipe := n.Pipeline()
	var plain, shards []*redis.StringSliceCmd
	for _, pattern := range patterns {
		plain = append(plain, pipe.PubSubChannels(ctx, pattern))
		if sharded {
			shards = append(shards, pipe.PubSubShardChannels(ctx, pattern))
		}
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	for _, cmd := range plain {
		if cmd.Err() != nil {
			return nil, cmd.Err()
		}
		all = append(all, cmd.Val()...)
	}
	for _, cmd := range shards {
		var refused redis.Error
		what, _ := preflight.DenialOf(cmd.Err())
		if cmd.Err() != nil && (what == preflight.Command || !errors.As(cmd.Err(), &refused)) {
			return nil, cmd.Err()
		}
		all = append(all, cmd.Val()...) // before Redis 7 there are none, and it is an error to ask
	}
	return all, nil
}

// node is one server, or one node of a Cluster.
type node struct {
	redis.Cmdable
	address string
}

// nodes are the masters, or all nodes, of a Cluster, or the one server.
func (c *Client) nodes(ctx context.Context, replicas bool) ([]*node, error) {
	if c.cluster == nil {
		return []*node{{c.rdb, c.address}}, nil
	}
	visit := c.cluster.ForEachMaster
	if shards, can := c.cluster.(interface {
		ForEachShard(ctx context.Context, visit func(ctx context.Context, n *redis.Client) error) error
	}); can && replicas {
		visit = shards.ForEachShard
	}
	return ofNode(ctx, c, nil, func(ctx context.Context) (all []*node, err error) {
		var mu sync.Mutex
		err = visit(ctx, func(_ context.Context, n *redis.Client) error { // on goroutines that end before visit returns
			mu.Lock()
			defer mu.Unlock()
			all = append(all, &node{n, n.Options().Addr})
			return nil
		})
		slices.SortFunc(all, func(a, b *node) int { return strings.Compare(a.address, b.address) })
		return all, err
	})
}

// ofNode runs f, which asks a node, until ctx ends or the Client closes.
func ofNode[T any](ctx context.Context, c *Client, n *node, f func(ctx context.Context) (T, error)) (none T, err error) {
	if ctx.Err() != nil {
		return none, fmt.Errorf("redlatch: %w", whyEnded(ctx))
	}
	asked, cancel := context.WithCancel(ctx) // a ctx that can end: otherwise call ignores closing
	defer cancel()
	got, err := call(asked, c, c.closing, func(ctx context.Context) (got response[T]) {
		got.value, got.err = f(ctx)
		return got
	})
	switch what, command := preflight.DenialOf(got.err); {
	case err != nil && ctx.Err() != nil && !errors.Is(err, ErrClosed):
		return none, fmt.Errorf("redlatch: %w", whyEnded(ctx))
	case err != nil:
		return none, ErrClosed
	case what == preflight.Command && n != nil:
		return none, &PermissionError{Server: n.address, Rule: "+" + command, Without: "locks are not found", Required: true, Err: got.err}
	case got.err != nil:
		return none, fmt.Errorf("redlatch: %w", got.err)
	}
	return got.value, nil
}
