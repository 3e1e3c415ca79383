package redistest

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// topologyTimeout bounds the time in which servers must have found each other.
// Sentinels greet every 2 s, and cluster nodes wait 2 s before they take part.
const topologyTimeout = 40 * time.Second

// Sentinel is a master with one replica, watched by three Sentinels. They agree
// that a master is down after it has been silent for half a second.
type Sentinel struct {
	MasterName string   // for redis.FailoverOptions
	Addrs      []string // of the Sentinels, for redis.FailoverOptions

	Master    *Server // as it is at the start; a failover changes the roles
	Replica   *Server
	Sentinels []*Server
}

// StartSentinel starts five servers and returns when the Sentinels know the
// replica and each other, so that a failover can begin at once.
func StartSentinel(t testing.TB) *Sentinel {
	t.Helper()
	master := Start(t)
	return watch(t, master, master.port.Number)
}

// StartSentinelRelayed is StartSentinel with a relay before the master, whose address is
// the master's to everybody: by [Relay.CutReplicas] a failover loses writes.
func StartSentinelRelayed(t testing.TB) (*Sentinel, *Relay) {
	t.Helper()
	master := Start(t)
	relay := StartRelay(t, master)
	return watch(t, master, relay.port.Number), relay
}

// watch starts the others for a master that they reach at a port. It is the same port for
// all: a Sentinel puts a replica right that has another master than its own.
func watch(t testing.TB, master *Server, port int) *Sentinel {
	t.Helper()
	c := &Sentinel{MasterName: "mymaster", Master: master}
	c.Replica = Start(t, WithConfig(fmt.Sprintf("replicaof 127.0.0.1 %d", port)))
	Eventually(t, topologyTimeout, "the replica is in step", func() bool {
		return c.Replica.Info(t, "replication", "master_link_status") == "up"
	})
	for range 3 {
		s := Start(t, asSentinel, WithConfig(
			fmt.Sprintf("sentinel monitor %s 127.0.0.1 %d 2", c.MasterName, port),
			fmt.Sprintf("sentinel down-after-milliseconds %s 500", c.MasterName),
			fmt.Sprintf("sentinel failover-timeout %s 3000", c.MasterName),
		))
		c.Sentinels = append(c.Sentinels, s)
		c.Addrs = append(c.Addrs, s.Addr())
	}
	for _, s := range c.Sentinels {
		Eventually(t, topologyTimeout, "the Sentinels have found each other and the replica", func() bool {
			m := pairs(s.Do(t, "SENTINEL", "MASTER", c.MasterName))
			return m["flags"] == "master" && m["num-slaves"] == "1" && m["num-other-sentinels"] == "2"
		})
	}
	return c
}

// AwaitPromotion returns when the Sentinels have made the replica the master.
func (c *Sentinel) AwaitPromotion(t testing.TB) {
	t.Helper()
	Eventually(t, topologyTimeout, "the replica is promoted", func() bool {
		return c.MasterAddr(t) == c.Replica.Addr() && c.Replica.Info(t, "replication", "role") == "master"
	})
}

// asSentinel makes redis-server a Sentinel. The argument must follow the file,
// which the Sentinel rewrites as it learns; a Restart goes on with what it knew.
func asSentinel(c *config) {
	c.sentinel = true
	c.args = append(c.args, "--sentinel")
}

// Client returns a client that asks the Sentinels for the master. It is closed
// with the test.
func (c *Sentinel) Client(t testing.TB, mods ...func(*redis.FailoverOptions)) *redis.Client {
	t.Helper()
	opts := &redis.FailoverOptions{MasterName: c.MasterName, SentinelAddrs: c.Addrs}
	for _, mod := range mods {
		mod(opts)
	}
	rdb := redis.NewFailoverClient(opts)
	t.Cleanup(func() { rdb.Close() })
	return rdb
}

// MasterAddr is the address of the master as the first Sentinel has it now.
func (c *Sentinel) MasterAddr(t testing.TB) string {
	t.Helper()
	hostPort := c.Sentinels[0].Do(t, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", c.MasterName).([]any)
	return fmt.Sprintf("%v:%v", hostPort[0], hostPort[1])
}

// pairs reads a RESP2 list of keys and values.
func pairs(reply any) map[any]any {
	list, _ := reply.([]any)
	m := make(map[any]any, len(list)/2)
	for i := 0; i+1 < len(list); i += 2 {
		m[list[i]] = list[i+1]
	}
	return m
}
