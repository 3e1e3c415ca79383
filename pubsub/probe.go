package pubsub

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// verdict is how long a node's answer about sharded pub/sub holds. A node that had none is asked
// again after that: it may have been upgraded, and clients that publish there notice at once. A node
// that had it is asked again before the next connection.
const verdict = time.Minute

// probe asks the node what Redisson asks at its start, and what the scripts ask that publish there.
// All of them have to get the same answer, whatever it is. A node that refuses the question has no
// sharded pub/sub: it may be older than Redis 7, or refuse this user. Then probe returns
// errUnsharded. It returns another error if there was no answer to judge by.
func (l *nodeConn) probe() error {
	h := l.hub
	h.mu.Lock()
	// The exact type is certain: only the connection of a node asks, and its source comes from
	// MasterForKey, never from the user of the hub.
	client := l.source.(*redis.Client)
	h.mu.Unlock()
	return judge(ask(h.ctx, client))
}

func ask(ctx context.Context, client *redis.Client) error {
	return client.Do(ctx, "PUBSUB", "SHARDNUMSUB", "0").Err()
}

// judge tells the answers to probe's question apart: nil, errUnsharded, or err itself if it does not
// answer the question.
func judge(err error) error {
	var refusal redis.Error
	if !errors.As(err, &refusal) {
		return err
	}
	// LOADING, MASTERDOWN and the like are no answer to this question.
	switch text := refusal.Error(); {
	case strings.Contains(text, "max number of clients"):
		return err
	case strings.HasPrefix(text, "ERR "), strings.HasPrefix(text, "NOPERM"):
		return errUnsharded
	default:
		return err
	}
}
