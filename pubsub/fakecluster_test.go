package pubsub_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/hashslot"
	"github.com/redlatch/redlatch/pubsub"
)

// fakeCluster is a cluster of three nodes on a fake clock, and at the same time the
// client of it. What the client knows of the slots may be behind what is the case.
type fakeCluster struct {
	*testing.T
	hub   *pubsub.Hub
	nodes []*fakeNode

	mu      sync.Mutex
	moved   map[int]*fakeNode // slots that are not where they were at the start; nil: nowhere
	known   map[int]*fakeNode // the same as the client knows it
	frozen  bool              // whether the client learns nothing any more
	offline error             // what asking the client for a node gives, if not nil
	reloads int
}

func inCluster(t *testing.T, cfg pubsub.Config, f func(c *fakeCluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		// go-redis' attempts to reach a node that was down end a second after the client.
		defer time.Sleep(2 * time.Second)
		c := &fakeCluster{T: t, moved: map[int]*fakeNode{}, known: map[int]*fakeNode{}}
		for i := range 3 {
			n := newFakeNode(c, fmt.Sprintf("127.0.0.1:%d", 7000+i))
			defer func() { n.client.Close() }()
			c.nodes = append(c.nodes, n)
		}
		cfg.Sharded = true
		c.hub = pubsub.NewHub(c, cfg)
		defer closeHub(t, c.hub)
		f(c)
	})
}

func (c *fakeCluster) at(moved map[int]*fakeNode, slot int) *fakeNode {
	if n, ok := moved[slot]; ok {
		return n
	}
	return c.nodes[slot*len(c.nodes)/16384]
}

// owner is the node that serves a slot. The caller has mu.
func (c *fakeCluster) owner(slot int) *fakeNode { return c.at(c.moved, slot) }

// MasterForKey answers as go-redis does: at once, from what it knows, and with any
// node for a slot that nobody serves.
func (c *fakeCluster) MasterForKey(_ context.Context, key string) (*redis.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.offline != nil {
		return nil, c.offline
	}
	n := c.at(c.known, hashslot.Of(key))
	if n == nil {
		n = c.nodes[0]
	}
	return n.client, nil
}

// ReloadState takes a millisecond, in the background.
func (c *fakeCluster) ReloadState(context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reloads++
	time.AfterFunc(time.Millisecond, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.frozen {
			c.learn()
		}
	})
}

func (c *fakeCluster) learn() {
	for slot, n := range c.moved {
		c.known[slot] = n
	}
}

func (c *fakeCluster) Subscribe(ctx context.Context, channels ...string) *redis.PubSub {
	return c.nodes[0].client.Subscribe(ctx, channels...)
}

// move gives the slot of a channel to another node, nil for none.
func (c *fakeCluster) move(channel string, to *fakeNode) {
	c.mu.Lock()
	defer c.mu.Unlock()
	slot := hashslot.Of(channel)
	from := c.owner(slot)
	c.moved[slot] = to
	if from != nil && from != to {
		from.drop(slot)
	}
}

func (c *fakeCluster) set(f func(c *fakeCluster)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c)
}

// publish does what the scripts do at the node that serves the channel's slot, and
// returns how many heard it.
func (c *fakeCluster) publish(channel, payload string) (heard int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.owner(hashslot.Of(channel))
	if n == nil {
		return 0
	}
	if n.old || n.probe != "" {
		for _, n := range c.nodes {
			for p := range n.peers {
				if p.plain[channel] {
					p.push("message", channel, payload)
					heard++
				}
			}
		}
		return heard
	}
	for p := range n.peers {
		if p.sharded[channel] {
			p.push("smessage", channel, payload)
			heard++
		}
	}
	return heard
}

// on returns a channel served by the node at the start, one for each i.
func (c *fakeCluster) on(node, i int) string {
	for n := 0; ; n++ {
		channel := fmt.Sprintf("c:{%d-%d-%d}", node, i, n)
		if hashslot.Of(channel)*len(c.nodes)/16384 == node {
			return channel
		}
	}
}

func (c *fakeCluster) settle() { synctest.Wait() }

func (c *fakeCluster) pass(d time.Duration) {
	time.Sleep(d) // of the bubble: no waiting
	synctest.Wait()
}

// asked tells how often the client was asked to look since the last call.
func (c *fakeCluster) asked() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.reloads
	c.reloads = 0
	return n
}

// total counts the commands of that name at all nodes since the last call.
func (c *fakeCluster) total(name string) int {
	sum := 0
	for _, n := range c.nodes {
		sum += n.count(name)
	}
	return sum
}

var errOffline = errors.New("no node answers")
