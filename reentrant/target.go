package reentrant

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/pubsub"
)

// target is the Redis of a Client, and how the Client reaches it.
//
// What Redis it is decides what a script may touch, where to subscribe and how to renew. So New has to
// know it, and has no server to ask. The redis client shows it by its methods, not by its type: a struct
// around a *redis.ClusterClient has the same methods. A struct around a redis.UniversalClient does not
// have them, and may hide anything, so it has to show what is in it (Unwrap). Rejected:
//
//   - To take any other client for the client of one server. If it is of a Cluster or a Ring, it fails
//     later, in the middle of the work.
//   - To look into structs by reflection. The methods need not use what is in a field.
//
// Commands go through the client as it was given, since a wrapper may measure or trace them. Some
// commands go directly to the nodes of a Cluster: the subscriptions, WAIT, INFO.
type target struct {
	rdb     redis.UniversalClient // as the caller gave it
	inner   redis.UniversalClient // shows what Redis it is: rdb, or the client in its wrappers
	cluster topology              // nil unless rdb is of a Cluster
	address string                // of the server, of the Sentinel group or of the nodes to begin with
}

// topology is what a client of a Cluster can do besides sending commands.
type topology interface {
	MasterForKey(ctx context.Context, key string) (*redis.Client, error)
	ForEachMaster(ctx context.Context, visit func(ctx context.Context, master *redis.Client) error) error
	ReloadState(ctx context.Context)
	Options() *redis.ClusterOptions
}

// These tell other clients apart. A *redis.Client has the first, also for a Sentinel group.
type (
	ofServer  interface{ Options() *redis.Options }
	ofRing    interface{ Options() *redis.RingOptions }
	pipeliner interface {
		Submit(ctx context.Context, cmd redis.Cmder) redis.AutoFuture
	}
	wrapper interface{ Unwrap() redis.UniversalClient }
)

// maxWrappers bounds the way through wrappers, one of which may have itself inside.
const maxWrappers = 64

// targetOf finds out for what Redis a client is.
func targetOf(rdb redis.UniversalClient) (t target, err error) {
	defer func() {
		// A client that is nil, or a struct around nothing, panics as soon as it is asked.
		if why := recover(); why != nil {
			err = fmt.Errorf("%w: no redis client: asking a %T what it is panics: %v", ErrInvalidOption, rdb, why)
		}
	}()
	t.rdb = rdb
	inner := rdb
	defer func() { t.inner = inner }()
	for range maxWrappers {
		if inner == nil {
			return t, fmt.Errorf("%w: no redis client", ErrInvalidOption)
		}
		if _, batches := inner.(pipeliner); batches {
			return t, fmt.Errorf("%w: a redis.AutoPipeliner sends commands again and knows no deadline of theirs: pass the client that it was made from", ErrInvalidOption)
		}
		switch c := inner.(type) {
		case topology:
			t.cluster = c
			// Sorted: the nodes to begin with may be named in any order, and the canonical
			// order of package multilock goes by this.
			t.address = strings.Join(slices.Sorted(slices.Values(c.Options().Addrs)), ",")
			return t, nil
		case ofServer:
			t.address = c.Options().Addr
			return t, nil
		case ofRing:
			_ = c.Options() // panics if it is nil
			return t, fmt.Errorf("%w: a redis.Ring has no one place for a lock's subscription: pass a *redis.Client or a *redis.ClusterClient", ErrInvalidOption)
		case wrapper:
			inner = c.Unwrap()
		default:
			return t, unknown(inner)
		}
	}
	return t, unknown(rdb)
}

func unknown(rdb redis.UniversalClient) error {
	return fmt.Errorf("%w: what Redis a %T is of cannot be seen: pass a *redis.Client or a *redis.ClusterClient, or a type that embeds one of them or has a method Unwrap() redis.UniversalClient that returns it", ErrInvalidOption, rdb)
}

// subscriber opens the Client's subscriptions. For a Cluster it has the methods of a cluster client, also
// when the client that was given does not have them.
func (t *target) subscriber() pubsub.Subscriber {
	if t.cluster == nil {
		return t.rdb
	}
	return struct {
		pubsub.Subscriber
		topology
	}{t.rdb, t.cluster}
}
