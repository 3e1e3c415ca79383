package redistest_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
)

// A slot goes to another master with its keys, and the shard of a master to its
// replica; a client finds both.
func TestClusterChangesHands(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := redistest.StartCluster(t, 2)
	rdb := c.Client(t, func(o *redis.ClusterOptions) { o.MaxRedirects = 20 })
	if err := rdb.Set(ctx, "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	from := c.Owner(t, "k")
	to := c.Nodes[0]
	if to == from {
		to = c.Nodes[1]
	}
	m := c.StartMigration(t, "k", to)
	if got := rdb.Get(ctx, "k").Val(); got != "v" || c.Owner(t, "k") != from {
		t.Fatalf("k = %q during the migration", got)
	}
	m.Finish(t)
	if got := to.Do(t, "GET", "k"); got != "v" || c.Owner(t, "k") != to {
		t.Fatalf("k = %v at the target", got)
	}

	replica := c.AddReplica(t, to)
	c.Failover(t, replica, to)
	if got := replica.Do(t, "GET", "k"); got != "v" || c.Owner(t, "k") != replica {
		t.Fatalf("k = %v at the new master", got)
	}
	if got := rdb.Get(ctx, "k").Val(); got != "v" {
		t.Fatalf("k = %q", got)
	}
}
