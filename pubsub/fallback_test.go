package pubsub_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/pubsub"
)

// Redis 6 knows no sharded pub/sub. One connection to any node hears all of it.
func TestOldClusterIsHeardPlainly(t *testing.T) {
	inCluster(t, pubsub.Config{}, func(c *fakeCluster) {
		for _, n := range c.nodes {
			n.set(func(n *fakeNode) { n.old = true })
		}
		var rs [3]recorder
		for node := range rs {
			c.hub.Listen(c.on(node, 0), rs[node].listen)
		}
		c.settle()
		for node := range rs {
			channel := c.on(node, 0)
			if heard := c.publish(channel, "x"); heard != 1 || !c.hub.Confirmed(channel) {
				c.Errorf("%d heard it", heard)
			}
			c.settle()
			wantEvents(c.T, &rs[node], subscribed(channel), message(channel, "x"))
		}
		if n := c.nodes[0].subscribers() + c.nodes[1].subscribers() + c.nodes[2].subscribers(); n != 1 {
			c.Errorf("%d connections, want 1", n)
		}
		if n := c.total("SSUBSCRIBE"); n != 0 {
			c.Errorf("%d SSUBSCRIBE", n)
		}
	})
}

// Clients that publish at an upgraded node notice at once. The hub finds out.
func TestUpgradedNodeIsHeardSharded(t *testing.T) {
	inCluster(t, pubsub.Config{}, func(c *fakeCluster) {
		for _, n := range c.nodes {
			n.set(func(n *fakeNode) { n.old = true })
		}
		var a, b recorder
		c.hub.Listen(c.on(0, 0), a.listen)
		c.hub.Listen(c.on(1, 0), b.listen)
		c.pass(10 * time.Minute)
		// It asks once a minute, and listens again.
		if n := c.total("PUBSUB"); n < 16 || n > 24 {
			c.Errorf("asked %d times, want 20", n)
		}
		a.take()
		c.nodes[0].set(func(n *fakeNode) { n.old = false })
		c.pass(75 * time.Second)
		c.publish(c.on(0, 0), "x")
		c.publish(c.on(1, 0), "y")
		c.settle()
		wantEvents(c.T, &a, resubscribed(c.on(0, 0)), message(c.on(0, 0), "x"))
		if got := b.take(); got[len(got)-1] != message(c.on(1, 0), "y") {
			c.Errorf("%v at the node that was not upgraded", got)
		}
		c.nodes[0].set(func(n *fakeNode) {
			for p := range n.peers {
				if p.plain[c.on(0, 0)] {
					c.Error("still subscribed plainly")
				}
			}
		})
	})
}

// The question must be answered the same way for everybody, so what is no answer is
// not taken for one.
func TestProbe(t *testing.T) {
	for _, test := range []struct {
		answer string
		plain  bool
	}{
		{"NOPERM this user has no permissions to run the 'pubsub|shardnumsub' command", true},
		{"ERR unknown command 'PUBSUB'", true},
		{"LOADING Redis is loading the dataset in memory", false},
		{"MASTERDOWN Link with MASTER is down", false},
		{"ERR max number of clients reached", false},
	} {
		t.Run(test.answer, func(t *testing.T) {
			inCluster(t, pubsub.Config{}, func(c *fakeCluster) {
				var r recorder
				c.nodes[1].set(func(n *fakeNode) { n.probe = test.answer })
				channel := c.on(1, 0)
				c.hub.Listen(channel, r.listen)
				c.pass(10 * time.Second)
				if c.hub.Confirmed(channel) != test.plain {
					c.Errorf("confirmed %t, want %t", !test.plain, test.plain)
				}
				if n := c.nodes[1].count("PUBSUB"); n > 30 {
					c.Errorf("asked %d times in 10 seconds", n)
				}
				c.nodes[1].set(func(n *fakeNode) { n.probe = "" })
				c.pass(75 * time.Second)
				c.publish(channel, "x")
				c.settle()
				want := []pubsub.Event{subscribed(channel), message(channel, "x")}
				if test.plain {
					want = []pubsub.Event{subscribed(channel), resubscribed(channel), message(channel, "x")}
				}
				wantEvents(c.T, &r, want...)
			})
		})
	}
}

// The question was answered, and the command is unknown all the same.
func TestUnknownCommandIsHeardPlainly(t *testing.T) {
	for _, refusal := range []string{
		"ERR unknown command `ssubscribe`, with args beginning with: `a`, ",
		"NOPERM this user has no permissions to run the 'ssubscribe' command",
	} {
		t.Run(refusal, func(t *testing.T) {
			inCluster(t, pubsub.Config{}, func(c *fakeCluster) {
				c.nodes[0].set(func(n *fakeNode) { n.refuse = refusal })
				c.hub.Listen(c.on(0, 0), func(pubsub.Event) {})
				c.hub.Listen(c.on(1, 0), func(pubsub.Event) {})
				c.pass(time.Minute)
				if n := c.nodes[0].count("SSUBSCRIBE"); n != 1 {
					c.Errorf("%d SSUBSCRIBE, want 1", n)
				}
				if !c.hub.Confirmed(c.on(0, 0)) || !c.hub.Confirmed(c.on(1, 0)) {
					c.Error("not confirmed")
				}
			})
		})
	}
}

func TestClusterIsHeardPlainlyUnlessAsked(t *testing.T) {
	inCluster(t, pubsub.Config{}, func(c *fakeCluster) {
		hub := pubsub.NewHub(c, pubsub.Config{})
		defer closeHub(c.T, hub)
		hub.Listen(c.on(1, 0), func(pubsub.Event) {})
		c.settle()
		if hub.Sharded() || !hub.Confirmed(c.on(1, 0)) || c.nodes[0].count("SUBSCRIBE") != 1 {
			c.Error("not subscribed plainly")
		}
	})
}

// Servers that the caller or go-redis calls a cluster are none to themselves.
func TestArtificialClusterIsHeardPlainly(t *testing.T) {
	rdb := redis.NewFailoverClusterClient(&redis.FailoverOptions{MasterName: "m", SentinelAddrs: []string{"127.0.0.1:1"}})
	defer rdb.Close()
	if pubsub.NewHub(rdb, pubsub.Config{Sharded: true}).Sharded() {
		t.Error("a Sentinel group is taken for a cluster")
	}
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	defer cluster.Close()
	if !pubsub.NewHub(cluster, pubsub.Config{Sharded: true}).Sharded() {
		t.Error("a cluster is not taken for one")
	}
}
