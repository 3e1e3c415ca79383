package pubsub_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/pubsub"
)

// Whatever the order of events, a listener is told Subscribed first and once,
// everybody who stays is confirmed in the end, and nothing is left behind.
func TestFault51ChurnInVirtualTime(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			cfg := pubsub.Config{Linger: 30 * time.Millisecond, MaxBackoff: 50 * time.Millisecond}
			if seed%2 == 1 {
				cfg.Linger = -1
			}
			inBubble(t, cfg, func(b *bubble) { churn(b, seed) })
		})
	}
}

func churn(b *bubble, seed uint64) {
	done := make(chan struct{})
	var killer, listeners sync.WaitGroup
	killer.Go(func() {
		rng := rand.New(rand.NewPCG(seed, 1000))
		for {
			select {
			case <-done:
				return
			case <-time.After(upTo(rng, 200*time.Millisecond)):
			}
			switch c := b.last(); {
			case c.Conn == nil:
			case rng.IntN(4) > 0:
				c.Close()
			default:
				c.set(func(c *faultyConn) { c.deaf = true })
			}
		}
	})
	var mu sync.Mutex
	var kept []*pubsub.Subscription
	b.hub.Listen("0", func(pubsub.Event) {})
	b.settle() // so that there is a connection to kill
	for g := range uint64(8) {
		listeners.Go(func() {
			rng := rand.New(rand.NewPCG(seed, g))
			for i := range 200 {
				channel := fmt.Sprint(rng.IntN(20))
				first, closed := true, false
				var seen sync.Mutex
				sub := b.hub.Listen(channel, func(ev pubsub.Event) {
					seen.Lock()
					defer seen.Unlock()
					if ev.Channel != channel || first != (ev.Kind == pubsub.Subscribed) {
						b.Errorf("event %v, first %t, for a listener of %s", ev, first, channel)
					}
					first = false
					if closed {
						b.Error("called twice after Close")
					}
				})
				time.Sleep(upTo(rng, 50*time.Millisecond))
				if i%40 == 0 {
					mu.Lock()
					kept = append(kept, sub)
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
	killer.Wait()
	b.pass(10 * time.Second)
	for _, sub := range kept {
		if !sub.Confirmed() {
			b.Error("a listener that stayed is not confirmed")
		}
	}
	if n := len(b.redis.PubSubChannels("*")); n != b.hub.Channels() {
		b.Errorf("server has %d channels, hub %d", n, b.hub.Channels())
	}
	for _, sub := range kept {
		sub.Close()
	}
	b.pass(time.Second)
	if got := b.redis.PubSubChannels("*"); len(got) != 1 || b.hub.Channels() != 1 {
		b.Errorf("server has %v, hub %d channels at the end", got, b.hub.Channels())
	}
}

func upTo(rng *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(rng.Int64N(int64(d)))
}
