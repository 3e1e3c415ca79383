package pubsub_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch/pubsub"
)

// answerOnce answers what was held back so far. What comes next is held back again.
func (n *fakeNode) answerOnce() {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	held := n.held
	n.held = nil
	for _, answer := range held {
		answer()
	}
}

// A slot leaves the node while an SUNSUBSCRIBE for it is on its way, behind the SSUBSCRIBE of another
// slot. The sunsubscribe that comes of it answers neither. If the hub counted it as an answer:
//
//  1. The refusal of the SSUBSCRIBE comes next. It would be taken for the SUNSUBSCRIBE's.
//  2. For that the hub would replace the connection, under all its listeners.
func TestUnaskedSunsubscribeBehindAnotherCommand(t *testing.T) {
	inCluster(t, pubsub.Config{Linger: -1}, func(c *fakeCluster) {
		n := c.nodes[0]
		leaving, first, refused := c.on(0, 0), c.on(0, 1), c.on(0, 2)
		var r recorder
		left := c.hub.Listen(leaving, func(pubsub.Event) {})
		c.settle()
		n.set(func(n *fakeNode) { n.mute = true })
		c.hub.Listen(first, func(pubsub.Event) {}) // unanswered, so that the next two go together
		c.settle()
		sub := c.hub.Listen(refused, r.listen)
		c.pass(20 * time.Millisecond) // its node is found
		left.Close()
		c.settle()
		n.took()
		n.answerOnce()
		c.settle()
		if got, want := n.took(), []string{"SSUBSCRIBE " + refused, "SUNSUBSCRIBE " + leaving}; !slices.Equal(got, want) {
			t.Fatalf("in flight: %q, want %q", got, want)
		}

		c.move(leaving, c.nodes[1])
		c.settle()
		dials := 0
		n.set(func(n *fakeNode) { n.refuse, dials = "CLUSTERDOWN The cluster is down", n.dials })
		n.speak()
		c.settle()
		n.set(func(n *fakeNode) { n.refuse = "" })
		c.pass(10 * time.Second)
		if !sub.Confirmed() {
			t.Error("deaf")
		}
		n.set(func(n *fakeNode) {
			if n.dials != dials {
				t.Errorf("%d connections more", n.dials-dials)
			}
		})
		c.publish(refused, "x")
		c.settle()
		wantEvents(c.T, &r, subscribed(refused), message(refused, "x"))
	})
}

// The node ends the subscriptions of a slot in an order of its own, while an SUNSUBSCRIBE for all of
// them is on its way. They may pass for answers or not. In either case the channels of other slots
// work afterwards, and the channels of this one work at another node.
func TestUnaskedSunsubscribesBeforeTheirOwnCommand(t *testing.T) {
	for _, order := range [][]string{{"a", "b", "c"}, {"c", "b", "a"}, {"b", "a", "c"}} {
		inCluster(t, pubsub.Config{Linger: -1}, func(c *fakeCluster) {
			n := c.nodes[0]
			leaving, stays := c.on(0, 0), c.on(0, 1)
			var r recorder
			var subs []*pubsub.Subscription
			for _, name := range order { // the node drops them in alphabetical order
				subs = append(subs, c.hub.Listen(name+leaving, func(pubsub.Event) {}))
			}
			c.hub.Listen(stays, r.listen)
			c.settle()
			n.set(func(n *fakeNode) { n.mute = true })
			for _, sub := range subs {
				sub.Close()
			}
			c.settle()
			c.move(leaving, c.nodes[1])
			c.settle()
			n.speak()
			c.settle()
			again := c.hub.Listen("b"+leaving, r.listen)
			c.hub.Listen("new"+stays, r.listen)
			c.pass(10 * time.Second)
			if !again.Confirmed() || !c.hub.Confirmed(stays) || !c.hub.Confirmed("new"+stays) {
				t.Errorf("%q: deaf", order)
			}
			wantEvents(c.T, &r, subscribed(stays), subscribed("new"+stays), subscribed("b"+leaving))
			if got := c.hub.Channels(); got != 3 {
				t.Errorf("%q: %d channels, want 3", order, got)
			}
		})
	}
}
