package pubsub

import (
	"errors"

	"github.com/redis/go-redis/v9"
)

// read calls the listeners for what arrives, until the connection fails or is
// closed. It reads without a timeout and leaves the watch over silence to the
// manager: a timeout in the middle of a reply would leave go-redis at that
// place, and it would take the rest of the reply for the next one.
func (c *conn) read() {
	defer close(c.ended)
	var calls []call // kept for its memory
	for c.err == nil {
		reply, err := c.ps.Receive(c.ctx)
		if err == nil || c.refusedPing(err) {
			c.heard.Store(int64(c.age()))
		} else {
			c.err = err
			return
		}
		switch reply := reply.(type) {
		case *redis.Message:
			calls = c.published(reply, calls)
		case *redis.Subscription:
			calls, c.err = c.answered(reply, calls)
		case *redis.Pong:
			c.pings.Add(-1)
		}
	}
}

// refusedPing reports whether err is the answer to a PING. A user may be
// allowed to subscribe but not to PING, and a refusal is as good a sign of
// life. It is told from a refused SUBSCRIBE by none being awaited.
func (c *conn) refusedPing(err error) bool {
	var refusal redis.Error
	if !errors.As(err, &refusal) || c.pings.Load() <= 0 || c.awaited.Load() > 0 {
		return false
	}
	c.pings.Add(-1)
	return true
}

func (c *conn) published(msg *redis.Message, calls []call) []call {
	h := c.hub
	h.mu.Lock()
	calls = h.registry.published(msg.Channel, calls[:0])
	h.mu.Unlock()
	deliver(calls, msg.Channel, msg.Payload)
	return calls
}

func (c *conn) answered(sub *redis.Subscription, calls []call) ([]call, error) {
	h := c.hub
	h.mu.Lock()
	calls, err := h.registry.answered(sub.Channel, sub.Kind == "subscribe", calls[:0])
	h.mu.Unlock()
	if err != nil {
		return calls, err
	}
	deliver(calls, sub.Channel, "")
	if c.awaited.Add(-1) == 0 {
		h.poke()
	}
	return calls, nil
}

// deliver makes the calls and lets go of the listeners.
func deliver(calls []call, channel, payload string) {
	for _, call := range calls {
		call.to.deliver(Event{Kind: call.kind, Channel: channel, Payload: payload})
	}
	clear(calls)
}
