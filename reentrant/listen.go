package reentrant

import "github.com/redlatch/redlatch/pubsub"

// ears is the subscription of one queue: to the client's own channel, on which a
// release wakes it, and to the common one, on which Redisson's releases are heard.
type ears struct {
	own, common *pubsub.Subscription
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
	e.common = q.c.hub.Listen(q.keys.Channel, func(ev pubsub.Event) {
		switch {
		case ev.Kind != pubsub.Message:
			// The common channel is asked for after the own one, so both are
			// confirmed. What was published before is lost: try again.
			q.signal(bySubscription)
		case ev.Payload != wokenAlready:
			q.signal(byMessage)
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
	q.ears = nil
}
