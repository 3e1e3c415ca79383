package pubsub_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/pubsub"
)

// plainRig is a hub that subscribes plainly in a cluster: because it is to, or because the
// servers have nothing else.
type plainRig struct {
	*testing.T
	cluster *redistest.Cluster
	hub     *pubsub.Hub
	heard   []*recorder // by number of the name
}

func newPlainRig(t *testing.T, cluster *redistest.Cluster, names int, cfg pubsub.Config, mods ...func(*redis.ClusterOptions)) *plainRig {
	t.Helper()
	cfg.Sharded = !redistest.AtLeast(t, "7.0")
	r := &plainRig{T: t, cluster: cluster, hub: pubsub.NewHub(cluster.Client(t, mods...), cfg)}
	t.Cleanup(func() { closeHub(t, r.hub) })
	for i := range names {
		r.heard = append(r.heard, &recorder{})
		r.hub.Listen(channelOf(i), r.heard[i].listen)
	}
	for i := range names {
		r.await("it is confirmed", func() bool { return r.hub.Confirmed(channelOf(i)) })
	}
	return r
}

func (r *plainRig) await(what string, cond func() bool) {
	r.Helper()
	redistest.Eventually(r, clusterTimeout, what, cond)
}

// allAreTold waits until every listener knows that it may have missed something.
func (r *plainRig) allAreTold() {
	r.Helper()
	for i, heard := range r.heard {
		r.await(channelOf(i)+" is told", func() bool { return heard.count(pubsub.Resubscribed) > 0 })
		heard.take()
	}
}

// at is the node that the hub is connected to, when it is one.
func (r *plainRig) at() (at *redistest.Server) {
	r.Helper()
	r.await("there is one connection", func() bool {
		n := 0
		for _, node := range r.cluster.Nodes {
			if c := connections(r.T, node); c > 0 {
				n, at = n+c, node
			}
		}
		return n == 1
	})
	return at
}

// allHear publishes on every channel, each time at another node, and waits until it is heard.
func (r *plainRig) allHear() {
	r.Helper()
	for i, heard := range r.heard {
		node := r.cluster.Nodes[i%len(r.cluster.Nodes)]
		node.Do(r, "EVAL", "return redis.call('PUBLISH', ARGV[1], 'x')", 0, channelOf(i))
		r.await(fmt.Sprintf("%s is heard, published at %s", channelOf(i), node.Addr()), func() bool {
			return heard.count(pubsub.Message) > 0
		})
		heard.take()
	}
}

// In a cluster a plain subscription hears what is published at any node, and so a hub makes
// do with one connection. It is made anew when it is cut or its node restarts, and slots that move
// are nothing to it.
func TestClusterPlain(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3)
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprint("RESP", protocol), func(t *testing.T) {
			cfg := pubsub.Config{PingInterval: 50 * time.Millisecond}
			mod := func(o *redis.ClusterOptions) { o.Protocol = protocol }
			r := newPlainRig(t, cluster, 60, cfg, mod)
			r.allHear()
			from := cluster.Owner(t, keyOf(0))
			to := cluster.Nodes[(slices.Index(cluster.Nodes, from)+1)%3]
			cluster.MoveSlot(t, keyOf(0), to)
			r.allHear()

			r.at().Do(t, "CLIENT", "KILL", "TYPE", "pubsub")
			r.allAreTold()
			r.allHear()

			r.at().Restart()
			r.allAreTold()
			r.await("the nodes pass messages on again", func() bool {
				return !slices.ContainsFunc(cluster.Nodes, func(n *redistest.Server) bool {
					return strings.Contains(n.Do(t, "CLUSTER", "NODES").(string), "disconnected")
				})
			})
			r.allHear()
		})
	}
}
