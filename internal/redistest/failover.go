package redistest

import (
	"context"
	"fmt"
	"regexp"
	"testing"
)

// AddReplica starts a replica of a master, adds it to Nodes and Addrs, and returns
// when it is in step and the others know it.
func (c *Cluster) AddReplica(t testing.TB, master *Server) *Server {
	t.Helper()
	others := c.Nodes
	c.addNode(t)
	replica := c.Nodes[len(c.Nodes)-1]
	for _, n := range others { // all of them, since gossip takes its time
		replica.Do(t, "CLUSTER", "MEET", "127.0.0.1", n.port.Number)
	}
	id := master.id(t)
	Eventually(t, topologyTimeout, "the replica has met its master", func() bool {
		return replica.Admin().Do(context.Background(), "CLUSTER", "REPLICATE", id).Err() == nil
	})
	c.awaitReplica(t, replica, master)
	return replica
}

// Failover makes a replica the master of its master without losing a write, as for a
// maintenance. It returns when the two have changed places and all nodes know.
func (c *Cluster) Failover(t testing.TB, replica, master *Server) {
	t.Helper()
	if !AtLeast(t, "6.2.2") {
		// It takes the offset 0 for none, and waits for ever unless something has been
		// replicated, as this is.
		master.Do(t, "SCRIPT", "LOAD", "return 0")
	}
	replica.Do(t, "CLUSTER", "FAILOVER")
	c.awaitReplica(t, master, replica)
}

// awaitReplica returns when the replica is in step with its master and every node
// counts it among the replicas of that master and is connected to it: what is published
// before that does not reach the replica.
func (c *Cluster) awaitReplica(t testing.TB, replica, master *Server) {
	t.Helper()
	Eventually(t, topologyTimeout, "the replica is in step", func() bool {
		return replica.Info(t, "replication", "role") == "slave" &&
			replica.Info(t, "replication", "master_link_status") == "up"
	})
	// Not CLUSTER SLOTS, which leaves a replica out until it has received a write.
	want := regexp.MustCompile(fmt.Sprintf(`(?m)^%s \S+ (myself,)?slave %s \d+ \d+ \d+ connected`, replica.id(t), master.id(t)))
	for _, n := range c.Nodes {
		Eventually(t, topologyTimeout, "all nodes know the replica", func() bool {
			return want.MatchString(n.Do(t, "CLUSTER", "NODES").(string))
		})
	}
}
