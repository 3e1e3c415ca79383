package pubsub_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/pubsub"
)

// leavesNothing fails if the nodes have other channels than the hub, which would pass for
// listeners: scripts count them.
func leavesNothing(t *testing.T, c *fakeCluster) {
	t.Helper()
	c.pass(10 * time.Second)
	if got, want := subscriptions(c), c.hub.Channels(); got != want {
		t.Errorf("the nodes have %d channels, the hub %d", got, want)
	}
}

// A slot is taken from a connection and given back while answers are under way, so that its
// channels are to be subscribed anew, and the last listener leaves before that: Redis has the
// channel still from the first time, and it has to be unsubscribed.
func TestShardedLeavesBeforeItIsSubscribedAnew(t *testing.T) {
	inCluster(t, pubsub.Config{Linger: -1}, func(c *fakeCluster) {
		n := c.nodes[0]
		listen := func(channel string) *pubsub.Subscription {
			defer c.settle()
			return c.hub.Listen(channel, func(pubsub.Event) {})
		}
		x, other := c.on(0, 0), c.on(0, 1)
		listen(other) // keeps the connection
		first := listen(x)
		c.pass(50 * time.Millisecond)
		n.set(func(n *fakeNode) { n.mute = true })
		listen("before" + other)
		second := listen("y" + x) // the slot of x
		listen("w" + other)
		c.pass(20 * time.Millisecond)
		n.answerOnce()
		c.settle() // now the last two are under way
		n.set(func(n *fakeNode) {
			n.refuse = "CLUSTERDOWN The cluster is down"
			n.held[0]()
			n.held = n.held[1:]
			n.refuse = ""
		})
		c.pass(40 * time.Millisecond) // longer than the back-off: the slot comes back
		first.Close()
		second.Close()
		n.speak()
		leavesNothing(t, c)
	})
}

// Redis refuses to unsubscribe (a Cluster that is down and was told not to allow pub/sub then).
// It has the channel still.
func TestShardedUnsubscribeRefused(t *testing.T) {
	for _, refusal := range []string{"CLUSTERDOWN The cluster is down", "NOPERM this user has no permissions to run the 'sunsubscribe' command"} {
		t.Run(refusal, func(t *testing.T) {
			inCluster(t, pubsub.Config{Linger: -1}, func(c *fakeCluster) {
				n := c.nodes[0]
				c.hub.Listen(c.on(0, 1), func(pubsub.Event) {})
				s := c.hub.Listen(c.on(0, 0), func(pubsub.Event) {})
				c.pass(50 * time.Millisecond)
				n.set(func(n *fakeNode) { n.refuseUn = refusal })
				s.Close()
				c.pass(time.Second)
				n.set(func(n *fakeNode) { n.refuseUn = "" })
				leavesNothing(t, c)
			})
		})
	}
}
