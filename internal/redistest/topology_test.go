package redistest_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
)

func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	c := redistest.StartSentinel(t)
	rdb := c.Client(t)
	if err := rdb.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	redistest.Eventually(t, 5*time.Second, "the replica has k", func() bool {
		return c.Replica.Do(t, "GET", "k") == "v"
	})
	if got := c.MasterAddr(t); got != c.Master.Addr() {
		t.Fatalf("master %s, want %s", got, c.Master.Addr())
	}
	c.Master.Stop()
	redistest.Eventually(t, 30*time.Second, "the replica is promoted", func() bool {
		return c.MasterAddr(t) == c.Replica.Addr() && c.Replica.Info(t, "replication", "role") == "master"
	})
	redistest.Eventually(t, 10*time.Second, "the client follows", func() bool {
		return rdb.Set(t.Context(), "k", "w", 0).Err() == nil
	})
	if got := c.Replica.Do(t, "GET", "k"); got != "w" {
		t.Fatalf("k = %v on the new master", got)
	}
}

func TestCluster(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3)
	rdb := c.Client(t)
	used := map[string]bool{}
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		if err := rdb.Set(t.Context(), key, "v", 0).Err(); err != nil {
			t.Fatal(err)
		}
		owner := c.Owner(t, key)
		if got := owner.Do(t, "GET", key); got != "v" {
			t.Fatalf("GET %s on its owner = %v", key, got)
		}
		used[owner.Addr()] = true
	}
	if len(used) != 3 {
		t.Errorf("six keys went to %d of 3 nodes", len(used))
	}

	t.Run("sharded pub/sub", func(t *testing.T) {
		redistest.Needs(t, "7.0", "sharded pub/sub")
		sub := rdb.SSubscribe(t.Context(), "ch")
		defer sub.Close()
		if _, err := sub.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n, err := rdb.SPublish(t.Context(), "ch", "m").Result(); n != 1 || err != nil {
			t.Fatalf("SPUBLISH = %d, %v", n, err)
		}
		if msg, err := sub.ReceiveMessage(t.Context()); err != nil || msg.Payload != "m" {
			t.Fatalf("%v, %v", msg, err)
		}
	})
}

// A cluster node that comes back remembers who it is.
func TestClusterNodeRestart(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 1)
	c.Nodes[0].Restart()
	rdb := c.Client(t, func(o *redis.ClusterOptions) { o.MaxRedirects = 20 })
	redistest.Eventually(t, 10*time.Second, "the cluster is back", func() bool {
		return rdb.Set(t.Context(), "k", "v", 0).Err() == nil
	})
}
