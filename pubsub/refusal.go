package pubsub

import (
	"errors"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/hashslot"
)

// errUnsharded means that the node has no sharded pub/sub, or refuses it to this user.
var errUnsharded = errors.New("pubsub: the node refuses sharded pub/sub")

// errDropped means that a node has ended subscriptions in a slot, since it does not serve the slot
// any more.
var errDropped = errors.New("pubsub: the slot has left its node")

// refusedSlot handles an error in a cluster. Redis answers commands in order, so the error is for the
// first one in flight. That one's slot has to be tried again, here or at another node. refusedSlot
// returns an error if the connection has to end.
func (c *conn) refusedSlot(err error) error {
	var refusal redis.Error
	if !errors.As(err, &refusal) || c.reconnected(err) {
		return err
	}
	h := c.line.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	number, moved := movedSlot(err)
	if moved && (len(c.flight) == 0 || c.flight[0].slot != number) {
		// This is for an SUNSUBSCRIBE that seemed to be answered already: the node had dropped the
		// channel by itself at the same time.
		c.line.lost(number, err, true)
		return nil
	}
	if len(c.flight) == 0 {
		return err
	}
	if unsharded(err) {
		return errUnsharded
	}
	b := c.flight[0]
	// A node that does not serve the slot has ended all subscriptions in it.
	gone := moved || redis.HasErrorPrefix(err, "CLUSTERDOWN Hash slot")
	if !b.subscribe && !gone {
		return err // Redis still has the channels; only a new connection ends that
	}
	c.flight = c.flight[1:]
	c.line.lost(b.slot, err, gone) // first, so that it counts also if no channel is wanted any more
	c.line.registry.refused(b.channels, gone)
	if c.awaited.Add(int32(-b.left)) == 0 {
		c.line.notify()
	}
	return nil
}

// reconnected reports whether go-redis has replaced the connection because of err. On the new one it
// has subscribed to the channels that it believes are wanted.
func (c *conn) reconnected(err error) bool {
	addr, moved := redis.IsMovedError(err)
	return moved && strings.HasSuffix(addr, c.line.node) || redis.HasErrorPrefix(err, "READONLY")
}

// movedSlot returns the slot that a MOVED is about.
func movedSlot(err error) (slot int, moved bool) {
	if !redis.HasErrorPrefix(err, "MOVED ") {
		return 0, false
	}
	fields := strings.Fields(err.Error())
	if len(fields) < 2 {
		return 0, false
	}
	slot, e := strconv.Atoi(fields[1])
	return slot, e == nil && slot >= 0 && slot < hashslot.Count
}

// unsharded reports whether a refusal of SSUBSCRIBE means the command and not the
// channels.
func unsharded(err error) bool {
	return strings.Contains(err.Error(), "unknown command") ||
		strings.Contains(err.Error(), "'ssubscribe' command")
}
