package pubsub_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redlatch/redlatch/pubsub"
)

func TestChannelLingers(t *testing.T) {
	inBubble(t, pubsub.Config{Linger: time.Second}, func(b *bubble) {
		var r recorder
		for range 3 {
			sub := b.hub.Listen("a", r.listen)
			b.settle()
			if !sub.Confirmed() {
				b.Error("not confirmed")
			}
			sub.Close()
			b.pass(999 * time.Millisecond)
		}
		wantEvents(b.T, &r, subscribed("a"), subscribed("a"), subscribed("a"))
		if got := b.sent("SUBSCRIBE"); len(got) != 1 || b.dials() != 1 {
			b.Errorf("SUBSCRIBE sent %d times on %d connections, want once", len(got), b.dials())
		}
		if b.hub.Channels() != 1 {
			b.Errorf("%d channels, want the one that lingers", b.hub.Channels())
		}

		// Nothing is wanted any more: the connection goes.
		b.pass(time.Second/8 + time.Millisecond)
		if got := b.redis.PubSubChannels("*"); len(got) != 0 || b.hub.Channels() != 0 {
			b.Errorf("still subscribed to %v, %d channels", got, b.hub.Channels())
		}
		select {
		case <-b.last().closed:
		default:
			b.Error("connection still open")
		}

		b.hub.Listen("a", r.listen)
		b.settle()
		wantEvents(b.T, &r, subscribed("a"))
		if b.dials() != 2 {
			b.Errorf("%d dials, want 2", b.dials())
		}
	})
}

func TestUnsubscribesAreBatched(t *testing.T) {
	inBubble(t, pubsub.Config{Linger: time.Second}, func(b *bubble) {
		b.hub.Listen("kept", func(pubsub.Event) {})
		for i := range 1000 {
			sub := b.hub.Listen(fmt.Sprint(i), func(pubsub.Event) {})
			b.settle()
			sub.Close()
			b.pass(time.Millisecond)
		}
		b.pass(2 * time.Second)
		sum, sizes := 0, b.sent("UNSUBSCRIBE")
		for _, size := range sizes {
			sum += size
		}
		if sum != 1000 || len(sizes) > 10 {
			b.Errorf("%d channels in %d UNSUBSCRIBEs, want 1000 in at most 10", sum, len(sizes))
		}
		if got := b.redis.PubSubChannels("*"); len(got) != 1 || b.hub.Channels() != 1 {
			b.Errorf("%d channels subscribed, %d in the hub, want 1", len(got), b.hub.Channels())
		}
	})
}

func TestLingeringIsCapped(t *testing.T) {
	inBubble(t, pubsub.Config{Linger: time.Hour}, func(b *bubble) {
		b.hub.Listen("kept", func(pubsub.Event) {})
		b.settle()
		const names = 100_000
		for i := range names {
			b.hub.Listen(fmt.Sprint(i), func(pubsub.Event) {}).Close()
			if i%1000 == 999 {
				b.settle()
			}
		}
		// Some of the names were never sent, having been closed before.
		if got := b.hub.Channels(); got > 1025 {
			b.Errorf("%d channels, want at most 1025", got)
		}
		subs := make([]*pubsub.Subscription, 3000)
		for i := range subs {
			subs[i] = b.hub.Listen(fmt.Sprint("x", i), func(pubsub.Event) {})
		}
		b.settle()
		for _, sub := range subs {
			sub.Close()
		}
		b.settle()
		if got, sub := b.hub.Channels(), len(b.redis.PubSubChannels("*")); got != 1025 || sub != 1025 {
			b.Errorf("%d channels, %d subscribed, want 1025", got, sub)
		}
		// The oldest have gone.
		b.sent("SUBSCRIBE")
		b.hub.Listen("x2999", func(pubsub.Event) {})
		b.settle()
		if n := len(b.sent("SUBSCRIBE")); n != 0 {
			b.Error("the channel left last did not linger")
		}
		b.hub.Listen("x0", func(pubsub.Event) {})
		b.settle()
		if n := len(b.sent("SUBSCRIBE")); n != 1 {
			b.Error("the channel left first still lingers")
		}
	})
}

func TestNoLinger(t *testing.T) {
	inBubble(t, pubsub.Config{Linger: -1}, func(b *bubble) {
		b.hub.Listen("kept", func(pubsub.Event) {})
		sub := b.hub.Listen("a", func(pubsub.Event) {})
		b.settle()
		sub.Close()
		b.settle()
		if got := b.redis.PubSubChannels("*"); len(got) != 1 || b.hub.Channels() != 1 {
			b.Errorf("subscribed to %v, %d channels", got, b.hub.Channels())
		}
	})
}
