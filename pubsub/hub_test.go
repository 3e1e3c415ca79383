package pubsub_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/pubsub"
)

func TestNothingHappensBeforeListen(t *testing.T) {
	inBubble(t, pubsub.Config{}, func(b *bubble) {
		b.pass(time.Hour)
		if b.dials() != 0 || b.hub.Channels() != 0 {
			b.Errorf("%d dials, %d channels", b.dials(), b.hub.Channels())
		}
	})
}

func TestMessageArrivesAfterSubscribed(t *testing.T) {
	inBubble(t, pubsub.Config{}, func(b *bubble) {
		var r recorder
		sub := b.hub.Listen("a", r.listen)
		b.settle()
		if !sub.Confirmed() {
			b.Error("not confirmed")
		}
		b.redis.Publish("a", "1")
		b.settle()
		wantEvents(b.T, &r, subscribed("a"), message("a", "1"))

		sub.Close()
		sub.Close()
		if sub.Confirmed() {
			b.Error("confirmed after Close")
		}
		b.redis.Publish("a", "2") // still subscribed, for it lingers
		b.settle()
		wantEvents(b.T, &r)
	})
}

func TestListenersShareAChannel(t *testing.T) {
	inBubble(t, pubsub.Config{}, func(b *bubble) {
		var first, second, late recorder
		one := b.hub.Listen("a", first.listen)
		b.hub.Listen("a", second.listen)
		b.settle()
		b.hub.Listen("a", late.listen)
		wantEvents(b.T, &late, subscribed("a")) // at once, from Listen

		b.redis.Publish("a", "1")
		b.settle()
		wantEvents(b.T, &first, subscribed("a"), message("a", "1"))
		wantEvents(b.T, &second, subscribed("a"), message("a", "1"))
		wantEvents(b.T, &late, message("a", "1"))

		one.Close()
		b.redis.Publish("a", "2")
		b.settle()
		wantEvents(b.T, &first)
		wantEvents(b.T, &second, message("a", "2"))
		wantEvents(b.T, &late, message("a", "2"))
		if got := b.sent("SUBSCRIBE"); len(got) != 1 {
			b.Errorf("SUBSCRIBE sent %d times, want once", len(got))
		}
	})
}

func TestListenerMayListenAndClose(t *testing.T) {
	inBubble(t, pubsub.Config{}, func(b *bubble) {
		var inner recorder
		calls := 0
		b.hub.Listen("known", func(pubsub.Event) {})
		b.settle()
		b.hub.Listen("known", func(pubsub.Event) { // called from Listen
			b.hub.Listen("a", inner.listen).Close()
		})
		self := make(chan *pubsub.Subscription, 1)
		self <- b.hub.Listen("b", func(pubsub.Event) { // called from the reader
			calls++
			(<-self).Close()
			b.hub.Listen("a", inner.listen)
			b.hub.Listen("known", inner.listen)
		})
		b.settle()
		b.redis.Publish("b", "1")
		b.settle()
		if calls != 1 {
			b.Errorf("called %d times, want no call after Close", calls)
		}
		if got := inner.count(pubsub.Subscribed); got != 2 {
			b.Errorf("%d Subscribed for the inner listeners, want 2", got)
		}
	})
}

// A listener that is closed while the others of its channel are called for the
// same message is not called any more.
func TestCloseDuringDelivery(t *testing.T) {
	inBubble(t, pubsub.Config{}, func(b *bubble) {
		var subs [2]*pubsub.Subscription
		calls := 0
		for i := range subs {
			subs[i] = b.hub.Listen("a", func(ev pubsub.Event) {
				if ev.Kind == pubsub.Message {
					calls++
					subs[1-i].Close()
				}
			})
		}
		b.settle()
		b.redis.Publish("a", "1")
		b.settle()
		if calls != 1 {
			b.Errorf("%d calls, want 1", calls)
		}
	})
}

func TestManyListensCostFewCommands(t *testing.T) {
	inBubble(t, pubsub.Config{}, func(b *bubble) {
		const n = 10_000
		var r recorder
		for i := range n {
			b.hub.Listen(fmt.Sprint(i), r.listen)
		}
		b.settle()
		if got := r.count(pubsub.Subscribed); got != n {
			b.Errorf("%d Subscribed, want %d", got, n)
		}
		sizes, sum := b.sent("SUBSCRIBE"), 0
		for _, size := range sizes {
			sum += size
			if size > 500 {
				b.Errorf("%d channels in one command", size)
			}
		}
		if sum != n || len(sizes) > n/20 {
			b.Errorf("%d channels in %d commands", sum, len(sizes))
		}
	})
}

func TestClose(t *testing.T) {
	inBubble(t, pubsub.Config{}, func(b *bubble) {
		var r recorder
		sub := b.hub.Listen("a", r.listen)
		b.settle()
		closeHub(b.T, b.hub)
		closeHub(b.T, b.hub)
		if b.hub.Channels() != 0 || sub.Confirmed() {
			b.Errorf("%d channels, confirmed %t after Close", b.hub.Channels(), sub.Confirmed())
		}
		late := b.hub.Listen("a", r.listen)
		b.pass(time.Minute)
		if late.Confirmed() {
			b.Error("confirmed on a closed hub")
		}
		late.Close()
		sub.Close()
		wantEvents(b.T, &r, subscribed("a"))
		if b.dials() != 1 {
			b.Errorf("%d dials, want 1", b.dials())
		}
	})
}

func TestCloseDuringDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newClient(func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		defer client.Close()
		hub := pubsub.NewHub(client, pubsub.Config{})
		hub.Listen("a", func(pubsub.Event) {})
		synctest.Wait()
		start := time.Now()
		closeHub(t, hub)
		if d := time.Since(start); d != 0 {
			t.Errorf("Close took %v", d)
		}
	})
}

func TestCloseGivesUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		client := newClient(func(context.Context, string, string) (net.Conn, error) {
			<-release // deaf to its ctx
			return nil, errRefused
		})
		defer client.Close()
		hub := pubsub.NewHub(client, pubsub.Config{})
		hub.Listen("a", func(pubsub.Event) {})
		synctest.Wait()

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := hub.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close: %v", err)
		}
		close(release)
		closeHub(t, hub)
	})
}
