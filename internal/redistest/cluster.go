package redistest

import (
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
)

const clusterSlots = 16384

// busOffset is from a node's port to that of its bus. Before Redis 7.0 there is no other.
const busOffset = 10_000

// Cluster is a Redis Cluster of masters without replicas. Node i of n has the
// slots from i*16384/n on, until a test moves them.
type Cluster struct {
	Nodes []*Server
	Addrs []string // of the nodes, for redis.ClusterOptions
}

// StartCluster starts a cluster of the given number of masters (Redis makes do
// with one, its tools ask for three) and returns when all nodes call it whole.
func StartCluster(t testing.TB, masters int) *Cluster {
	t.Helper()
	c := &Cluster{}
	for i := range masters {
		c.addNode(t)
		c.Nodes[i].AddSlots(t, i*clusterSlots/masters, (i+1)*clusterSlots/masters-1)
		// Nodes that meet with equal epochs take a while to settle who yields.
		c.Nodes[i].Do(t, "CLUSTER", "SET-CONFIG-EPOCH", i+1)
	}
	for _, n := range c.Nodes[1:] {
		c.Nodes[0].Do(t, "CLUSTER", "MEET", "127.0.0.1", n.port.Number)
	}
	for _, n := range c.Nodes {
		Eventually(t, topologyTimeout, "the cluster is whole", func() bool {
			info := n.Do(t, "CLUSTER", "INFO").(string)
			return lineOf(info, "cluster_state") == "ok" &&
				lineOf(info, "cluster_slots_ok") == strconv.Itoa(clusterSlots) &&
				lineOf(info, "cluster_known_nodes") == strconv.Itoa(masters)
		})
	}
	return c
}

// asClusterNode makes redis-server a node, without slots and alone.
func asClusterNode(c *config) {
	c.clusterNode = true
	c.lines = append(c.lines, "cluster-enabled yes")
}

func (c *Cluster) addNode(t testing.TB) {
	t.Helper()
	n := Start(t, asClusterNode, WithConfig("cluster-node-timeout 2000"))
	c.Nodes = append(c.Nodes, n)
	c.Addrs = append(c.Addrs, n.Addr())
}

// AddSlots gives a node of a cluster slots that nobody has. One by one, since ranges came
// with Redis 7.0.
func (s *Server) AddSlots(t testing.TB, first, last int) {
	t.Helper()
	args := []any{"CLUSTER", "ADDSLOTS"}
	for slot := first; slot <= last; slot++ {
		args = append(args, slot)
	}
	s.Do(t, args...)
}

// Client returns a cluster client, which is closed with the test.
func (c *Cluster) Client(t testing.TB, mods ...func(*redis.ClusterOptions)) *redis.ClusterClient {
	t.Helper()
	opts := &redis.ClusterOptions{Addrs: c.Addrs}
	for _, mod := range mods {
		mod(opts)
	}
	rdb := redis.NewClusterClient(opts)
	t.Cleanup(func() { rdb.Close() })
	return rdb
}

// Owner is the node that serves the slot of key, by what the first node knows.
func (c *Cluster) Owner(t testing.TB, key string) *Server {
	t.Helper()
	slot := c.Nodes[0].Do(t, "CLUSTER", "KEYSLOT", key).(int64)
	for _, r := range c.Nodes[0].Do(t, "CLUSTER", "SLOTS").([]any) {
		entry := r.([]any) // first slot, last slot, master, replicas
		if slot < entry[0].(int64) || slot > entry[1].(int64) {
			continue
		}
		port := entry[2].([]any)[1].(int64)
		for _, n := range c.Nodes {
			if int64(n.port.Number) == port {
				return n
			}
		}
	}
	t.Fatalf("redistest: no node has the slot of %q", key)
	return nil
}
