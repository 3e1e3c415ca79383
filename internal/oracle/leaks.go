package oracle

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// lasting is the one kind of key that is meant to stay, without a TTL.
const lasting = "redisson_lock_token:"

// Keys finds keys that must not be in Redis once all have gone: those of the locks, and
// any without a TTL but the tokens' counters. There may be others with a TTL.
func Keys(ctx context.Context, rdb redis.Cmdable, locks ...string) (found []Violation, err error) {
	keys, err := rdb.Keys(ctx, "*").Result()
	if err != nil {
		return nil, fmt.Errorf("oracle: KEYS: %w", err)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if strings.HasPrefix(key, lasting) {
			continue
		}
		ttl, err := rdb.PTTL(ctx, key).Result()
		switch {
		case err != nil:
			return found, fmt.Errorf("oracle: PTTL: %w", err)
		case ttl == -2: // it has expired since
		case slices.Contains(locks, key):
			found = append(found, violated("keys", key, "is still there, with a TTL of %v", ttl))
		case ttl < 0:
			found = append(found, violated("keys", "", "%s has no TTL", key))
		}
	}
	return found, nil
}

// Channels finds channels that somebody is subscribed to.
func Channels(ctx context.Context, rdb redis.Cmdable) (found []Violation, err error) {
	plain, err := rdb.PubSubChannels(ctx, "*").Result()
	if err != nil {
		return nil, fmt.Errorf("oracle: PUBSUB CHANNELS: %w", err)
	}
	sharded, err := rdb.PubSubShardChannels(ctx, "*").Result()
	if redis.HasErrorPrefix(err, "Unknown subcommand") {
		sharded, err = nil, nil // before Redis 7.0 there are none
	}
	if err != nil {
		return nil, fmt.Errorf("oracle: PUBSUB SHARDCHANNELS: %w", err)
	}
	for _, channel := range append(plain, sharded...) {
		found = append(found, violated("channels", "", "%q has subscribers", channel))
	}
	return found, nil
}

// Connections finds clients of Redis with that name (CLIENT SETNAME), if there are more
// than most.
func Connections(ctx context.Context, rdb redis.Cmdable, name string, most int) (found []Violation, err error) {
	list, err := rdb.ClientList(ctx).Result()
	if err != nil {
		return nil, fmt.Errorf("oracle: CLIENT LIST: %w", err)
	}
	n := 0
	for line := range strings.Lines(list) {
		if slices.Contains(strings.Fields(line), "name="+name) {
			n++
		}
	}
	if n > most {
		found = append(found, violated("connections", "", "%d are named %s, at most %d are right", n, name, most))
	}
	return found, nil
}

// Goroutines finds goroutines that run code of one of the packages, or were begun by it, if
// there are more than most.
func Goroutines(most int, packages ...string) (found []Violation) {
	stacks := goroutines()
	var left []string
	for _, stack := range stacks {
		if slices.ContainsFunc(packages, func(p string) bool { return strings.Contains(stack, p+".") }) {
			left = append(left, stack)
		}
	}
	if len(left) > most {
		found = append(found, violated("goroutines", "", "%d of %s, at most %d are right; one of them:\n%s",
			len(left), strings.Join(packages, ", "), most, left[0]))
	}
	return found
}

func goroutines() []string {
	for size := 1 << 20; ; size *= 2 {
		buf := make([]byte, size)
		if n := runtime.Stack(buf, true); n < size {
			return strings.Split(string(buf[:n]), "\n\n")
		}
	}
}
