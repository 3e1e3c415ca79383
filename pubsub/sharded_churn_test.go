package pubsub_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/pubsub"
)

// Whatever happens to the cluster, a listener is told Subscribed first and once,
// everybody who stays hears what is published in the end, and nothing is left behind.
func TestFault51ShardedChurnInVirtualTime(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			cfg := pubsub.Config{Linger: 30 * time.Millisecond, MaxBackoff: 50 * time.Millisecond}
			if seed%2 == 1 {
				cfg.Linger = -1
			}
			inCluster(t, cfg, func(c *fakeCluster) { shardedChurn(c, seed) })
		})
	}
}

// torment does one thing to the cluster.
func torment(c *fakeCluster, rng *rand.Rand) {
	n := c.nodes[rng.IntN(3)]
	channel := fmt.Sprintf("{%d}", rng.IntN(20))
	switch rng.IntN(12) {
	case 0, 1, 2, 3, 4:
		c.move(channel, n)
	case 5:
		c.move(channel, nil)
	case 6:
		n.cut()
	case 7:
		n.kill()
		time.AfterFunc(upTo(rng, 300*time.Millisecond), func() { n.set(func(n *fakeNode) { n.dead = false }) })
	case 8:
		c.set(func(c *fakeCluster) { c.frozen = !c.frozen })
	case 9:
		n.set(func(n *fakeNode) { n.replica = !n.replica })
	case 10:
		refusal := []string{"", "NOPERM no", "CLUSTERDOWN The cluster is down", "ERR unknown command 'ssubscribe'"}[rng.IntN(4)]
		n.set(func(n *fakeNode) { n.refuse = refusal })
	case 11:
		n.set(func(n *fakeNode) { n.old = !n.old })
	}
}

// heal ends all torments.
func heal(c *fakeCluster) {
	c.set(func(c *fakeCluster) { c.frozen = false })
	for i := range 20 {
		c.move(fmt.Sprintf("{%d}", i), c.nodes[i%3])
	}
	for _, n := range c.nodes {
		n.set(func(n *fakeNode) { n.dead, n.replica, n.old, n.refuse = false, false, false, "" })
	}
}

func shardedChurn(c *fakeCluster, seed uint64) {
	done := make(chan struct{})
	var tormentor, listeners sync.WaitGroup
	tormentor.Go(func() {
		rng := rand.New(rand.NewPCG(seed, 1000))
		for {
			select {
			case <-done:
				return
			case <-time.After(upTo(rng, 50*time.Millisecond)):
				torment(c, rng)
			}
		}
	})
	type keeper struct {
		sub     *pubsub.Subscription
		channel string
		heard   *recorder
	}
	var mu sync.Mutex
	var kept []keeper
	for g := range uint64(8) {
		listeners.Go(func() {
			rng := rand.New(rand.NewPCG(seed, g))
			for i := range 100 {
				channel := fmt.Sprintf("%d{%d}", rng.IntN(3), rng.IntN(20))
				heard := &recorder{}
				first, closed := true, false
				var seen sync.Mutex
				sub := c.hub.Listen(channel, func(ev pubsub.Event) {
					seen.Lock()
					defer seen.Unlock()
					if ev.Channel != channel || first != (ev.Kind == pubsub.Subscribed) {
						c.Errorf("event %v, first %t, for a listener of %s", ev, first, channel)
					}
					first = false
					if closed {
						c.Error("called twice after Close")
					}
					heard.listen(ev)
				})
				time.Sleep(upTo(rng, 100*time.Millisecond))
				if i%20 == 0 {
					mu.Lock()
					kept = append(kept, keeper{sub, channel, heard})
					mu.Unlock()
					continue
				}
				sub.Close()
				time.Sleep(upTo(rng, 2*time.Millisecond))
				seen.Lock()
				closed = true
				seen.Unlock()
			}
		})
	}
	listeners.Wait()
	close(done)
	tormentor.Wait()
	heal(c)
	c.pass(2 * time.Minute) // a node that was old is asked again after one
	for _, k := range kept {
		k.heard.take()
		if !k.sub.Confirmed() {
			c.Errorf("a listener of %s that stayed is not confirmed", k.channel)
		}
		if heard := c.publish(k.channel, "x"); heard != 1 {
			c.Errorf("%d connections have heard of %s, want 1", heard, k.channel)
		}
		c.settle()
		wantEvents(c.T, k.heard, message(k.channel, "x"))
		for _, k := range kept {
			k.heard.take()
		}
	}
	if n := subscriptions(c); n != c.hub.Channels() {
		c.Errorf("the nodes have %d channels, the hub %d", n, c.hub.Channels())
	}
	for _, k := range kept {
		k.sub.Close()
	}
	c.pass(time.Second)
	if n := subscriptions(c); n != 0 || c.hub.Channels() != 0 {
		c.Errorf("the nodes have %d channels, the hub %d at the end", n, c.hub.Channels())
	}
}

func subscriptions(c *fakeCluster) int {
	sum := 0
	for _, n := range c.nodes {
		n.set(func(n *fakeNode) {
			for p := range n.peers {
				sum += len(p.sharded) + len(p.plain)
			}
		})
	}
	return sum
}
