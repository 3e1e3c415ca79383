package pubsub

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// verdict is how long a node's answer holds. One that had no sharded pub/sub is asked
// again then: it may have been upgraded, and whoever publishes there knows at once. One
// that had it is asked again before the next connection.
const verdict = time.Minute

// probe asks the node what Redisson asks at its start, and what the scripts ask that
// publish there. All of them have to come to the same answer, whatever it is: a node
// that refuses the question, as one before Redis 7 does, or because of who asks, has
// no sharded pub/sub. It returns errUnsharded then, or another error if there was no
// answer to judge by.
func (l *nodeConn) probe() error {
	h := l.hub
	h.mu.Lock()
	// By its exact type: the line of a node, and only such a line asks, has its source from
	// MasterForKey, never from the user of the hub.
	client := l.source.(*redis.Client)
	h.mu.Unlock()
	return judge(ask(h.ctx, client))
}

func ask(ctx context.Context, client *redis.Client) error {
	return client.Do(ctx, "PUBSUB", "SHARDNUMSUB", "0").Err()
}

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
