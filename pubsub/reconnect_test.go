package pubsub_test

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/redlatch/redlatch/pubsub"
)

func TestSilenceIsNoFailure(t *testing.T) {
	for _, interval := range []time.Duration{3 * time.Second, time.Second} {
		t.Run(interval.String(), func(t *testing.T) {
			inBubble(t, pubsub.Config{PingInterval: interval, PingTimeout: 2 * time.Second}, func(b *bubble) {
				var r recorder
				b.hub.Listen("a", r.listen)
				b.pass(600 * time.Second)
				wantEvents(b.T, &r, subscribed("a"))
				if b.dials() != 1 {
					b.Errorf("%d dials, want 1", b.dials())
				}
				want := int(600 * time.Second / interval)
				if n := len(b.sent("PING")); n != want && n != want-1 {
					b.Errorf("%d PINGs in 10 minutes of silence, want %d", n, want)
				}
			})
		})
	}
}

func TestNoPingWhileMessagesArrive(t *testing.T) {
	inBubble(t, pubsub.Config{PingInterval: 3 * time.Second}, func(b *bubble) {
		b.hub.Listen("a", func(pubsub.Event) {})
		for range 60 {
			b.pass(time.Second)
			b.redis.Publish("a", "")
		}
		if n := len(b.sent("PING")); n != 0 {
			b.Errorf("%d PINGs, want none", n)
		}
	})
}

func TestFault11HalfOpenConnectionIsReplaced(t *testing.T) {
	cfg := pubsub.Config{PingInterval: 3 * time.Second, PingTimeout: 2 * time.Second}
	var reconnects []error
	cfg.OnReconnect = func(err error) { reconnects = append(reconnects, err) }
	inBubble(t, cfg, func(b *bubble) {
		listeners := make([]recorder, 20)
		for i := range listeners {
			b.hub.Listen(fmt.Sprint("c", i/2), listeners[i].listen)
		}
		b.settle()
		b.last().set(func(c *faultyConn) { c.deaf = true })
		b.pass(5*time.Second - time.Millisecond)
		if b.dials() != 1 {
			b.Fatalf("%d dials before the deadline", b.dials())
		}
		b.pass(time.Millisecond + 20*time.Millisecond)
		for i := range listeners {
			channel := fmt.Sprint("c", i/2)
			b.redis.Publish(channel, "x")
			b.settle()
			events := listeners[i].take()
			if len(events) < 3 || events[0] != subscribed(channel) ||
				events[1] != resubscribed(channel) || events[2] != message(channel, "x") {
				b.Errorf("listener %d: events %v", i, events)
			}
		}
		if len(reconnects) != 1 || reconnects[0] == nil || b.dials() != 2 {
			b.Errorf("OnReconnect called with %v, %d dials, want once", reconnects, b.dials())
		}
	})
}

func TestFault11HalfOpenFromTheStart(t *testing.T) {
	inBubble(t, pubsub.Config{}, func(b *bubble) {
		var r recorder
		sub := b.hub.Listen("a", r.listen)
		b.settle()
		b.last().set(func(c *faultyConn) { c.deaf = true })
		b.hub.Listen("b", r.listen)
		b.settle()
		b.pass(6 * time.Second)
		if got := r.count(pubsub.Subscribed); got != 2 || !sub.Confirmed() {
			b.Errorf("%d Subscribed, want 2", got)
		}
	})
}

func TestStalledWriteHoldsUpNobody(t *testing.T) {
	inBubble(t, pubsub.Config{PingTimeout: 2 * time.Second}, func(b *bubble) {
		var r recorder
		a := b.hub.Listen("a", r.listen)
		b.settle()
		b.last().set(func(c *faultyConn) { c.stalled = true })
		start := time.Now()
		var other recorder
		b.hub.Listen("b", other.listen)
		b.settle()
		b.hub.Listen("c", other.listen).Close()
		a.Close()
		a = b.hub.Listen("a", r.listen)
		if d := time.Since(start); d != 0 || !a.Confirmed() {
			b.Errorf("took %v, confirmed %t", d, a.Confirmed())
		}
		b.pass(2*time.Second + 20*time.Millisecond)
		wantEvents(b.T, &r, subscribed("a"), subscribed("a"), resubscribed("a"))
		wantEvents(b.T, &other, subscribed("b"))
	})
}

func TestFault12KilledConnectionIsReplacedWithinTheBackoff(t *testing.T) {
	var reconnects []error
	cfg := pubsub.Config{OnReconnect: func(err error) { reconnects = append(reconnects, err) }}
	inBubble(t, cfg, func(b *bubble) {
		var one, two recorder
		b.hub.Listen("a", one.listen)
		b.hub.Listen("a", two.listen)
		gone := b.hub.Listen("lingers", two.listen)
		b.settle()
		gone.Close()
		for i := 1; i <= 5; i++ {
			b.pass(10 * time.Second)
			one.take()
			two.take()
			b.last().Close()
			b.pass(20 * time.Millisecond)
			wantEvents(b.T, &one, resubscribed("a"))
			wantEvents(b.T, &two, resubscribed("a"))
			if len(reconnects) != i || reconnects[i-1] == nil {
				b.Fatalf("OnReconnect called with %v, want %d", reconnects, i)
			}
		}
	})
}

func TestConnectionLostBeforeConfirmation(t *testing.T) {
	inBubble(t, pubsub.Config{}, func(b *bubble) {
		var r recorder
		b.setRefuse(errRefused)
		b.hub.Listen("a", r.listen)
		b.pass(time.Second)
		wantEvents(b.T, &r)
		b.setRefuse(nil)
		b.pass(2 * time.Second)
		wantEvents(b.T, &r, subscribed("a")) // the first time, so not Resubscribed
	})
}

func TestBackoff(t *testing.T) {
	var reconnects []error
	cfg := pubsub.Config{
		MinBackoff: 20 * time.Millisecond, MaxBackoff: 2 * time.Second,
		OnReconnect: func(err error) { reconnects = append(reconnects, err) },
	}
	inBubble(t, cfg, func(b *bubble) {
		var r recorder
		b.setRefuse(errRefused)
		sub := b.hub.Listen("a", r.listen)
		b.pass(10 * time.Minute)
		// One a second on average once the ceiling is reached.
		if n := b.dials(); n < 450 || n > 800 {
			b.Errorf("%d dials in 10 minutes, want about 600", n)
		}

		// A new listener each time does not get around it.
		before := b.dials()
		for range 10_000 {
			sub.Close()
			sub = b.hub.Listen("a", r.listen)
			b.pass(time.Millisecond)
		}
		if n := b.dials() - before; n > 25 {
			b.Errorf("%d dials in 10 seconds, want about 10", n)
		}

		b.setRefuse(nil)
		b.pass(2 * time.Second)
		wantEvents(b.T, &r, subscribed("a"))
		if len(reconnects) != 1 {
			b.Errorf("OnReconnect called with %v, want once", reconnects)
		}
	})
}

func TestNobodyLeftDuringBackoff(t *testing.T) {
	inBubble(t, pubsub.Config{MinBackoff: time.Hour}, func(b *bubble) {
		b.setRefuse(errRefused)
		sub := b.hub.Listen("a", func(pubsub.Event) {})
		b.settle()
		sub.Close()
		b.settle()
		if b.hub.Channels() != 0 {
			b.Error("channel still there")
		}
		b.pass(3 * time.Hour)
		if b.dials() != 1 {
			b.Errorf("%d dials, want none after the listener left", b.dials())
		}
	})
}

// A server that confirms and then drops every connection works, after a
// fashion: the hub must stay close to it without hammering it.
func TestShortLivedConnections(t *testing.T) {
	inBubble(t, pubsub.Config{}, func(b *bubble) {
		var r recorder
		sub := b.hub.Listen("a", r.listen)
		rounds := 0
		for start := time.Now(); time.Since(start) < time.Minute; b.pass(time.Millisecond) {
			if sub.Confirmed() {
				rounds++
				b.last().Close()
			}
		}
		// The ceiling is 8 * 20ms, so 80ms on average.
		if rounds < 500 || rounds > 1000 {
			b.Errorf("%d connections in a minute, want about 740", rounds)
		}
	})
}

func TestServerRestart(t *testing.T) {
	inBubble(t, pubsub.Config{}, func(b *bubble) {
		var r recorder
		b.hub.Listen("a", r.listen)
		b.settle()
		b.setRefuse(io.EOF)
		b.last().Close()
		b.pass(time.Minute)
		b.setRefuse(nil)
		b.pass(2 * time.Second)
		b.redis.Publish("a", "1")
		b.settle()
		wantEvents(b.T, &r, subscribed("a"), resubscribed("a"), message("a", "1"))
	})
}
