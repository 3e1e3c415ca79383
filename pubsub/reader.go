package pubsub

import (
	"errors"

	"github.com/redis/go-redis/v9"
)

// read calls the listeners for what arrives, until the connection fails or is closed. It reads
// without a timeout, and the connection loop watches for silence. A timeout in the middle of a reply
// would leave go-redis at that place, and it would take the rest of the reply for the next one.
func (c *conn) read() {
	defer close(c.ended)
	var calls []call // kept for its memory
	for c.err == nil {
		reply, err := c.ps.Receive(c.ctx)
		if err != nil {
			if err = c.refused(err); err != nil {
				c.err = err
				return
			}
		}
		c.heard.Store(int64(c.age()))
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

// refused handles an error. It returns it if the connection has to end.
func (c *conn) refused(err error) error {
	switch {
	case c.refusedPing(err):
		return nil
	case c.line.sharded():
		return c.refusedSlot(err)
	default:
		return err
	}
}

// refusedPing reports whether err is the answer to a PING. A user may be allowed to subscribe but not
// to PING, and a refusal is as good a sign of life. It cannot be a refused SUBSCRIBE if no answer to
// one is awaited.
func (c *conn) refusedPing(err error) bool {
	var refusal redis.Error
	if !errors.As(err, &refusal) || c.pings.Load() <= 0 || c.awaited.Load() > 0 {
		return false
	}
	if _, moved := movedSlot(err); moved {
		return false // a PING has no slot
	}
	c.pings.Add(-1)
	return true
}

func (c *conn) published(msg *redis.Message, calls []call) []call {
	h := c.line.hub
	h.mu.Lock()
	calls = c.line.registry.published(msg.Channel, calls[:0])
	h.mu.Unlock()
	deliver(calls, msg.Channel, msg.Payload)
	return calls
}

// answered handles the answer to a SUBSCRIBE or UNSUBSCRIBE. In a cluster a sunsubscribe may also
// come without a request: it ends a subscription and answers nothing. An error means that the answer
// belongs to no command that was sent, so the connection has to end.
func (c *conn) answered(sub *redis.Subscription, calls []call) ([]call, error) {
	h, r := c.line.hub, &c.line.registry
	subscribed := sub.Kind == "subscribe" || sub.Kind == "ssubscribe"
	h.mu.Lock()
	if c.line.sharded() && !subscribed && !c.unsubscribes(sub.Channel) {
		c.line.dropped(sub.Channel)
		h.mu.Unlock()
		return calls, nil
	}
	calls, err := r.answered(sub.Channel, subscribed, calls[:0])
	if err != nil {
		h.mu.Unlock()
		return calls, err
	}
	c.landed()
	h.mu.Unlock()
	deliver(calls, sub.Channel, "")
	if c.awaited.Add(-1) == 0 {
		c.line.notify()
	}
	return calls, nil
}

// unsubscribes reports whether a sunsubscribe is the answer to an SUNSUBSCRIBE of the channel. Redis
// answers in order. If that answer is not the next one due, the node has sent it without a request,
// even if an SUNSUBSCRIBE of the channel is on its way behind other commands: their answers are still
// to come. The caller has Hub.mu.
func (c *conn) unsubscribes(channel string) bool {
	if len(c.flight) == 0 {
		return false
	}
	b := c.flight[0]
	return !b.subscribe && b.channels[len(b.channels)-b.left] == channel
}

// landed counts an answer to the first batch in flight. The caller has Hub.mu.
func (c *conn) landed() {
	if len(c.flight) == 0 {
		return
	}
	if c.flight[0].left--; c.flight[0].left == 0 {
		c.flight = c.flight[1:]
	}
}

// deliver makes the calls, and drops the references to the listeners.
func deliver(calls []call, channel, payload string) {
	for _, call := range calls {
		call.to.deliver(Event{Kind: call.kind, Channel: channel, Payload: payload})
	}
	clear(calls)
}
