package pubsub_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/hashslot"
	"github.com/redlatch/redlatch/pubsub"
)

func TestShardedListensAtTheNodesOfTheSlots(t *testing.T) {
	inCluster(t, pubsub.Config{}, func(c *fakeCluster) {
		if !c.hub.Sharded() {
			c.Fatal("not sharded")
		}
		var rs [3][2]recorder
		for node := range rs {
			for i := range rs[node] {
				c.hub.Listen(c.on(node, i), rs[node][i].listen)
			}
		}
		c.settle()
		for node, n := range c.nodes {
			if got := n.subscribers(); got != 1 {
				c.Errorf("%d connections to node %d, want 1", got, node)
			}
			for i := range rs[node] {
				channel := c.on(node, i)
				if heard := c.publish(channel, "x"); heard != 1 || !c.hub.Confirmed(channel) {
					c.Errorf("%s: %d heard it", channel, heard)
				}
				c.settle()
				wantEvents(c.T, &rs[node][i], subscribed(channel), message(channel, "x"))
			}
		}
		if n := c.asked(); n != 0 {
			c.Errorf("%d reloads of the map without need", n)
		}
	})
}

// The channels of one slot go into one command, in the order of Listen: once the last
// is confirmed, all are.
func TestShardedKeepsTheOrderOfASlot(t *testing.T) {
	inCluster(t, pubsub.Config{}, func(c *fakeCluster) {
		tag := c.on(1, 0)
		want := "SSUBSCRIBE"
		for _, name := range []string{"own", "listeners", "common", "a", "z", "b"} {
			c.hub.Listen(name+tag, func(pubsub.Event) {})
			want += " " + name + tag
		}
		c.settle()
		// There may be more than one command, as the hub has begun before the last Listen.
		got := c.nodes[1].took()
		if all := "SSUBSCRIBE" + strings.ReplaceAll(strings.Join(got[1:], ""), "SSUBSCRIBE", ""); got[0] != "PUBSUB SHARDNUMSUB 0" || all != want {
			c.Errorf("sent %q", got)
		}
		c.nodes[1].cut()
		c.pass(100 * time.Millisecond)
		// What go-redis sent, which reconnects first, is of no account.
		if got := c.nodes[1].took(); got[len(got)-1] != want {
			c.Errorf("sent on the new connection %q", got)
		}
		c.move("own"+tag, c.nodes[2])
		c.pass(100 * time.Millisecond)
		if got := c.nodes[2].took(); !slices.Equal(got, []string{"PUBSUB SHARDNUMSUB 0", want}) {
			c.Errorf("sent to the next node %q", got)
		}
	})
}

func TestShardedChannelsEndWithTheLastListener(t *testing.T) {
	inCluster(t, pubsub.Config{Linger: time.Second}, func(c *fakeCluster) {
		kept := c.hub.Listen(c.on(0, 0), func(pubsub.Event) {})
		one := c.hub.Listen(c.on(0, 1), func(pubsub.Event) {})
		two := c.hub.Listen(c.on(0, 1), func(pubsub.Event) {})
		other := c.hub.Listen(c.on(2, 0), func(pubsub.Event) {})
		c.settle()
		other.Close()
		one.Close()
		c.pass(2 * time.Second)
		if !two.Confirmed() || c.nodes[2].subscribers() != 0 || c.hub.Channels() != 2 {
			c.Errorf("confirmed %t, %d connections to node 2, %d channels", two.Confirmed(), c.nodes[2].subscribers(), c.hub.Channels())
		}
		c.total("")
		two.Close()
		c.pass(900 * time.Millisecond)
		if n := c.nodes[0].count("SUNSUBSCRIBE"); n != 0 {
			c.Error("does not linger")
		}
		c.pass(400 * time.Millisecond)
		if n := c.nodes[0].count("SUNSUBSCRIBE"); n != 1 || c.hub.Channels() != 1 {
			c.Errorf("%d SUNSUBSCRIBE, %d channels", n, c.hub.Channels())
		}
		kept.Close()
		c.pass(2 * time.Second)
		if n := c.nodes[0].subscribers(); n != 0 || c.hub.Channels() != 0 {
			c.Errorf("%d connections, %d channels at the end", n, c.hub.Channels())
		}
		c.hub.Listen(c.on(0, 0), func(pubsub.Event) {})
		c.settle()
		if c.nodes[0].subscribers() != 1 {
			c.Error("not heard any more")
		}
	})
}

func TestShardedManySlots(t *testing.T) {
	inCluster(t, pubsub.Config{}, func(c *fakeCluster) {
		const locks = 3000
		var r recorder
		for i := range locks {
			for _, kind := range []string{"own", "listeners", "common"} {
				c.hub.Listen(fmt.Sprintf("%s:{%d}", kind, i), r.listen)
			}
		}
		c.settle() // no time passes: nothing waits for an answer but answers
		if got := r.count(pubsub.Subscribed); got != 3*locks {
			c.Errorf("%d Subscribed, want %d", got, 3*locks)
		}
		for i, n := range c.nodes {
			if got := n.subscribers(); got != 1 || n.dials != 2 {
				c.Errorf("node %d: %d connections, %d dials, want 1 and the probe's", i, got, n.dials)
			}
		}
	})
}

func TestShardedSlotMoves(t *testing.T) {
	var reconnects []error
	cfg := pubsub.Config{OnReconnect: func(err error) { reconnects = append(reconnects, err) }}
	inCluster(t, cfg, func(c *fakeCluster) {
		var a, b, stays recorder
		channel := c.on(0, 0)
		c.hub.Listen("a"+channel, a.listen)
		c.hub.Listen("b"+channel, b.listen)
		c.hub.Listen(c.on(0, 1), stays.listen)
		c.settle()
		c.move(channel, c.nodes[1])
		late := c.hub.Listen("late"+channel, func(pubsub.Event) {}) // before the hub knows
		c.pass(50 * time.Millisecond)
		for _, name := range []string{"a", "b"} {
			if heard := c.publish(name+channel, "x"); heard != 1 {
				c.Errorf("%d heard it", heard)
			}
		}
		c.settle()
		wantEvents(c.T, &a, subscribed("a"+channel), resubscribed("a"+channel), message("a"+channel, "x"))
		wantEvents(c.T, &b, subscribed("b"+channel), resubscribed("b"+channel), message("b"+channel, "x"))
		wantEvents(c.T, &stays, subscribed(c.on(0, 1)))
		if !late.Confirmed() {
			c.Error("the late one is not confirmed")
		}
		if len(reconnects) != 1 || reconnects[0] == nil {
			c.Errorf("OnReconnect called with %v, want once", reconnects)
		}
		// And away again, at once.
		c.move(channel, c.nodes[2])
		c.move(channel, c.nodes[0])
		c.pass(time.Second)
		if heard := c.publish("a"+channel, "y"); heard != 1 || c.nodes[1].subscribers() != 0 {
			c.Errorf("%d heard it, %d connections to the node left", heard, c.nodes[1].subscribers())
		}
	})
}

// The client learns late where the slot is: the hub tries again, in measure, and the
// other slots of the node that it asks in vain are not disturbed.
func TestShardedStaleMap(t *testing.T) {
	inCluster(t, pubsub.Config{}, func(c *fakeCluster) {
		var moves, stays recorder
		channel, other := c.on(0, 0), c.on(0, 1)
		c.set(func(c *fakeCluster) { c.frozen = true })
		c.hub.Listen(channel, moves.listen)
		c.hub.Listen(other, stays.listen)
		c.settle()
		c.move(channel, c.nodes[1])
		c.total("")
		c.asked()
		c.pass(time.Minute)
		if n := c.nodes[0].count("SSUBSCRIBE"); n < 30 || n > 120 {
			c.Errorf("asked the wrong node %d times in a minute, want about 60", n)
		}
		if n := c.asked(); n > 150 {
			c.Errorf("%d reloads in a minute", n)
		}
		c.set(func(c *fakeCluster) { c.frozen = false })
		c.pass(4 * time.Second)
		c.publish(channel, "x")
		c.settle()
		wantEvents(c.T, &moves, subscribed(channel), resubscribed(channel), message(channel, "x"))
		wantEvents(c.T, &stays, subscribed(other))
	})
}

// A replica accepts SSUBSCRIBE for the slots of its master. After a failover a client
// that is behind the times sends the hub there.
func TestShardedReplicaAccepts(t *testing.T) {
	inCluster(t, pubsub.Config{}, func(c *fakeCluster) {
		var r recorder
		channel := c.on(0, 0)
		c.hub.Listen(channel, r.listen)
		c.settle()
		c.set(func(c *fakeCluster) { c.frozen = true })
		c.nodes[0].set(func(n *fakeNode) { n.replica = true })
		c.move(channel, c.nodes[1])
		c.pass(100 * time.Millisecond)
		wantEvents(c.T, &r, subscribed(channel), resubscribed(channel))
		c.set(func(c *fakeCluster) { c.frozen = false })
		c.pass(2 * time.Second)
		if heard := c.publish(channel, "x"); heard != 1 {
			c.Errorf("%d heard it at the master", heard)
		}
		c.settle()
		wantEvents(c.T, &r, resubscribed(channel), message(channel, "x"))
		if n := c.nodes[0].subscribers(); n != 0 {
			c.Errorf("%d connections to the replica are left", n)
		}
	})
}

// A master that was cut off from the others does not know that it is none any more.
// Nothing fails, but sooner or later the client's map says otherwise.
func TestShardedMapChangesUnderAWorkingConnection(t *testing.T) {
	inCluster(t, pubsub.Config{}, func(c *fakeCluster) {
		var moves, stays recorder
		channel, other := c.on(0, 0), c.on(0, 1)
		c.hub.Listen(channel, moves.listen)
		c.hub.Listen(other, stays.listen)
		c.pass(time.Minute)
		c.nodes[0].set(func(n *fakeNode) { n.replica = true }) // accepts, too
		c.set(func(c *fakeCluster) {
			c.moved[hashslot.Of(channel)] = c.nodes[1]
			c.learn()
		})
		c.pass(21 * time.Second)
		if heard := c.publish(channel, "x"); heard != 1 {
			c.Errorf("%d heard it", heard)
		}
		c.settle()
		wantEvents(c.T, &moves, subscribed(channel), resubscribed(channel), message(channel, "x"))
		wantEvents(c.T, &stays, subscribed(other))
		c.nodes[0].set(func(n *fakeNode) {
			for p := range n.peers {
				if p.sharded[channel] {
					c.Error("still subscribed at the old node")
				}
			}
		})
	})
}

// One look at a map that is wrong for a moment moves nothing.
func TestShardedMapIsWrongForAMoment(t *testing.T) {
	inCluster(t, pubsub.Config{}, func(c *fakeCluster) {
		var r recorder
		channel := c.on(0, 0)
		c.hub.Listen(channel, r.listen)
		c.settle()
		for range 10 {
			c.set(func(c *fakeCluster) { c.known[hashslot.Of(channel)] = c.nodes[1] })
			c.pass(10*time.Second + time.Millisecond)
			c.set(func(c *fakeCluster) { c.known[hashslot.Of(channel)] = c.nodes[0] })
			c.pass(10 * time.Second)
		}
		wantEvents(c.T, &r, subscribed(channel))
	})
}

func TestShardedConnectionIsReplaced(t *testing.T) {
	var reconnects []error
	cfg := pubsub.Config{OnReconnect: func(err error) { reconnects = append(reconnects, err) }}
	inCluster(t, cfg, func(c *fakeCluster) {
		var a, b recorder
		c.hub.Listen(c.on(0, 0), a.listen)
		c.hub.Listen(c.on(1, 0), b.listen)
		c.pass(10 * time.Second)
		c.nodes[0].cut()
		c.pass(100 * time.Millisecond)
		wantEvents(c.T, &a, subscribed(c.on(0, 0)), resubscribed(c.on(0, 0)))
		wantEvents(c.T, &b, subscribed(c.on(1, 0)))
		if len(reconnects) != 1 {
			c.Errorf("OnReconnect called with %v, want once", reconnects)
		}
	})
}

// A node dies, and after a while its replica has the slots.
func TestShardedNodeDies(t *testing.T) {
	var reconnects []error
	cfg := pubsub.Config{OnReconnect: func(err error) { reconnects = append(reconnects, err) }}
	inCluster(t, cfg, func(c *fakeCluster) {
		var lost, stays recorder
		channel := c.on(0, 0)
		c.hub.Listen(channel, lost.listen)
		c.hub.Listen(c.on(1, 0), stays.listen)
		c.pass(10 * time.Second)
		c.nodes[0].set(func(n *fakeNode) { n.dials = 0 })
		c.nodes[0].kill()
		c.pass(time.Minute)
		// Go-redis itself dials up to five times for a command.
		if n := c.nodes[0].dials; n > 5*100 {
			c.Errorf("%d dials in a minute, want about 60 attempts", n)
		}
		wantEvents(c.T, &lost, subscribed(channel))
		c.move(channel, c.nodes[2])
		c.pass(12 * time.Second)
		c.publish(channel, "x")
		c.settle()
		wantEvents(c.T, &lost, resubscribed(channel), message(channel, "x"))
		wantEvents(c.T, &stays, subscribed(c.on(1, 0)))
		if len(reconnects) != 1 {
			c.Errorf("OnReconnect called with %v, want once", reconnects)
		}
	})
}

func TestShardedSlotNotServed(t *testing.T) {
	inCluster(t, pubsub.Config{}, func(c *fakeCluster) {
		var r, stays recorder
		channel := c.on(0, 0)
		c.move(channel, nil)
		c.set((*fakeCluster).learn)
		c.hub.Listen(c.on(0, 1), stays.listen)
		sub := c.hub.Listen(channel, r.listen)
		c.settle()
		c.total("")
		c.pass(time.Minute)
		if n := c.total("SSUBSCRIBE"); n < 30 || n > 120 {
			c.Errorf("asked %d times in a minute, want about 60", n)
		}
		// A new listener each time does not get around it.
		for range 10_000 {
			sub.Close()
			sub = c.hub.Listen(channel, r.listen)
			c.pass(time.Millisecond)
		}
		if n := c.total("SSUBSCRIBE"); n > 25 {
			c.Errorf("asked %d times in 10 seconds, want about 10", n)
		}
		wantEvents(c.T, &r)
		c.move(channel, c.nodes[2])
		c.pass(5 * time.Second)
		wantEvents(c.T, &r, subscribed(channel)) // the first time
		wantEvents(c.T, &stays, subscribed(c.on(0, 1)))
		if !sub.Confirmed() {
			c.Error("not confirmed")
		}
	})
}

// Thousands of slots without a node do not make for thousands of attempts a second.
func TestShardedManySlotsNotServed(t *testing.T) {
	inCluster(t, pubsub.Config{}, func(c *fakeCluster) {
		const slots = 1000
		for i := range slots {
			channel := fmt.Sprintf("{%d}", i)
			c.set(func(c *fakeCluster) {
				c.moved[hashslot.Of(channel)], c.known[hashslot.Of(channel)] = nil, nil
			})
			c.hub.Listen(channel, func(pubsub.Event) {})
		}
		c.pass(5 * time.Second)
		c.total("")
		c.pass(10 * time.Second)
		if n := c.total("SSUBSCRIBE"); n > 12_000 {
			c.Errorf("asked %d times in 10 seconds, want 1000 a second", n)
		}
		c.set(func(c *fakeCluster) { clear(c.moved); clear(c.known) })
		c.pass(6 * time.Second)
		for i := range slots {
			if channel := fmt.Sprintf("{%d}", i); !c.hub.Confirmed(channel) {
				c.Fatalf("%s is not confirmed", channel)
			}
		}
	})
}

// go-redis knows no node and finds none.
func TestShardedNoNodeKnown(t *testing.T) {
	inCluster(t, pubsub.Config{}, func(c *fakeCluster) {
		c.set(func(c *fakeCluster) { c.offline = errOffline })
		var r recorder
		c.hub.Listen(c.on(0, 0), r.listen)
		for i := range 100 {
			c.hub.Listen(c.on(1, i), func(pubsub.Event) {})
		}
		c.pass(time.Minute)
		wantEvents(c.T, &r)
		if n := c.asked(); n > 150 {
			c.Errorf("%d reloads in a minute", n)
		}
		c.set(func(c *fakeCluster) { c.offline = nil })
		c.pass(3 * time.Second)
		wantEvents(c.T, &r, subscribed(c.on(0, 0)))
	})
}

// A channel that the user may not listen to keeps its slot busy and no other.
func TestShardedRefusedChannel(t *testing.T) {
	inCluster(t, pubsub.Config{}, func(c *fakeCluster) {
		var r, stays recorder
		c.hub.Listen(c.on(0, 0), stays.listen)
		c.settle()
		c.nodes[0].set(func(n *fakeNode) {
			n.refuse = "NOPERM this user has no permissions to access one of the channels used as arguments"
		})
		c.hub.Listen(c.on(0, 1), r.listen)
		c.settle()
		c.total("")
		c.pass(time.Minute)
		if n := c.total("SSUBSCRIBE"); n < 30 || n > 120 {
			c.Errorf("tried %d times in a minute, want about 60", n)
		}
		c.nodes[0].set(func(n *fakeNode) { n.refuse = "" })
		c.pass(3 * time.Second)
		wantEvents(c.T, &r, subscribed(c.on(0, 1)))
		wantEvents(c.T, &stays, subscribed(c.on(0, 0)))
	})
}

func TestFault11ShardedHalfOpenConnection(t *testing.T) {
	inCluster(t, pubsub.Config{}, func(c *fakeCluster) {
		var r recorder
		c.hub.Listen(c.on(0, 0), r.listen)
		c.pass(7 * time.Second)
		if n := c.nodes[0].count("PING"); n != 2 {
			c.Errorf("%d PINGs, want 2", n)
		}
		// The connection takes everything and answers nothing.
		c.nodes[0].set(func(n *fakeNode) {
			for p := range n.peers {
				p.closed = true
			}
		})
		c.pass(6 * time.Second)
		wantEvents(c.T, &r, subscribed(c.on(0, 0)), resubscribed(c.on(0, 0)))
	})
}

// A slot that goes to and fro is followed, in measure.
func TestShardedSlotGoesToAndFro(t *testing.T) {
	inCluster(t, pubsub.Config{}, func(c *fakeCluster) {
		channel := c.on(0, 0)
		sub := c.hub.Listen(channel, func(pubsub.Event) {})
		rounds := 0
		for start := time.Now(); time.Since(start) < time.Minute; c.pass(time.Millisecond) {
			if sub.Confirmed() {
				rounds++
				c.set((*fakeCluster).learn)
				c.move(channel, c.nodes[rounds%3])
			}
		}
		// The ceiling is 8 * 20ms, so 80ms on average, or twice that when the map is late.
		if rounds < 250 || rounds > 1000 {
			c.Errorf("followed %d times in a minute, want about 700", rounds)
		}
	})
}

// The map sends a slot away from a working connection and back again, and meanwhile
// that connection is busy: what is left of the channel there is subscribed anew.
func TestShardedComesBackBeforeItHasLeft(t *testing.T) {
	inCluster(t, pubsub.Config{PingInterval: time.Hour}, func(c *fakeCluster) {
		var r recorder
		channel := c.on(0, 0)
		sub := c.hub.Listen(channel, r.listen)
		c.settle()
		c.nodes[0].set(func(n *fakeNode) { n.mute = true })
		c.hub.Listen(c.on(0, 1), func(pubsub.Event) {})
		c.nodes[1].set(func(n *fakeNode) { n.replica = true })
		c.set(func(c *fakeCluster) { c.known[hashslot.Of(channel)] = c.nodes[1] })
		c.pass(21 * time.Second)
		wantEvents(c.T, &r, subscribed(channel), resubscribed(channel))
		c.set(func(c *fakeCluster) { c.known[hashslot.Of(channel)] = c.nodes[0] })
		c.pass(21 * time.Second)
		if sub.Confirmed() {
			c.Error("confirmed by what was before")
		}
		c.nodes[0].speak()
		c.settle()
		if heard := c.publish(channel, "x"); heard != 1 || !sub.Confirmed() {
			c.Errorf("%d heard it", heard)
		}
		c.settle()
		wantEvents(c.T, &r, resubscribed(channel), message(channel, "x"))
	})
}

// go-redis closes the client of a node that it has not seen for a while, and makes
// another when the node is back.
func TestShardedNodeGetsAnotherClient(t *testing.T) {
	inCluster(t, pubsub.Config{}, func(c *fakeCluster) {
		var r recorder
		c.hub.Listen(c.on(0, 0), r.listen)
		c.pass(10 * time.Second)
		old := c.nodes[0].client
		c.set(func(c *fakeCluster) { c.nodes[0].client = c.nodes[0].newClient(old.Options().Addr) })
		old.Close() // and its connections
		c.pass(5 * time.Second)
		c.publish(c.on(0, 0), "x")
		c.settle()
		wantEvents(c.T, &r, subscribed(c.on(0, 0)), resubscribed(c.on(0, 0)), message(c.on(0, 0), "x"))
	})
}

// The last listener leaves while a refusal is on its way. That counts, too.
func TestShardedImpatientListeners(t *testing.T) {
	inCluster(t, pubsub.Config{Linger: -1}, func(c *fakeCluster) {
		c.hub.Listen(c.on(0, 0), func(pubsub.Event) {}) // keeps the connection
		c.settle()
		channel := c.on(0, 1)
		c.nodes[0].set(func(n *fakeNode) { n.refuse = "NOPERM no" })
		c.total("")
		for range 1000 {
			c.nodes[0].set(func(n *fakeNode) { n.mute = true })
			sub := c.hub.Listen(channel, func(pubsub.Event) {})
			c.pass(5 * time.Millisecond)
			sub.Close()
			c.nodes[0].speak()
			c.pass(5 * time.Millisecond)
		}
		if n := c.total("SSUBSCRIBE"); n > 30 {
			c.Errorf("asked %d times in 10 seconds, want about 10", n)
		}
	})
}
