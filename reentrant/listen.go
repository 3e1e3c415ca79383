package reentrant

import "github.com/redlatch/redlatch/pubsub"

// ears is the subscription of one queue: to the client's own channel, on which a
// release wakes it, to the common one, on which Redisson's releases are heard, and
// to that of the listeners, by which a release tells them from Redisson's.
type ears struct {
	own, listeners, common *pubsub.Subscription
}

// listen subscribes unless that is done already. The caller has queue.mu.
func (q *queue) listen() {
	if q.ears != nil {
		return
	}
	e := &ears{}
	q.ears = e
	// A message on the own channel is meant for us whatever it says. Messages are
	// hints: the head tries, and the scripts decide.
	e.own = q.c.hub.Listen(q.keys.Own, func(ev pubsub.Event) {
		if ev.Kind == pubsub.Message {
			q.signal(byMessage)
		}
	})
	// Before the common one, and given up after it: a client that listens on the
	// common channel alone would pass for one of Redisson.
	e.listeners = q.c.hub.Listen(q.keys.Listeners, func(pubsub.Event) {})
	e.common = q.c.hub.Listen(q.keys.Channel, func(ev pubsub.Event) {
		switch {
		case ev.Kind != pubsub.Message:
			// The common channel is asked for last, so all are confirmed. What was published before is lost: try again.
			q.signal(bySubscription)
		case ev.Payload == wokenAlready:
			q.afterRedisson.Store(false)
		default:
			q.afterRedisson.Store(true)
			q.signalFreed()
		}
	})
}

// wokenAlready is what a Go release publishes on the common channel: one waiter
// was woken on its own channel. Redisson reads it as the number 0, a release.
const wokenAlready = "-0"

// heard reports whether messages to this client would arrive.
func (q *queue) heard() bool {
	return q.ears != nil && q.ears.own.Confirmed()
}

// stopListening ends the subscription. The caller has queue.mu.
func (q *queue) stopListening() {
	if q.ears == nil {
		return
	}
	q.ears.own.Close()
	q.ears.common.Close()
	q.ears.listeners.Close()
	q.ears = nil
}
