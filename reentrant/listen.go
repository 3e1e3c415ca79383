package reentrant

import (
	"github.com/redlatch/redlatch/lua"
	"github.com/redlatch/redlatch/pubsub"
)

// ears is the subscription of one queue: to the client's own channel, on which a
// release wakes it and, while Redisson is about, to what is needed to hear Redisson.
type ears struct {
	own *pubsub.Subscription

	// The lock's common channel, on which Redisson's releases are heard, and that of the
	// listeners, by which a release tells Go clients from Redisson's; nil unless they are needed (overhear).
	listeners, common *pubsub.Subscription

	// Capacity 1 each: the head shall try again.
	wake  chan cause    // it is its turn, or messages may have been missed
	freed chan struct{} // Redisson freed the lock: everybody's turn
}

// signal tells the head to try again. It never blocks; signals that nobody has
// taken yet are one.
func (e *ears) signal(why cause) {
	select {
	case e.wake <- why:
	default:
	}
}

// signalFreed is signal for a release by Redisson.
func (e *ears) signalFreed() {
	select {
	case e.freed <- struct{}{}:
	default:
	}
}

// forget drops the signals that nobody has taken yet.
func (e *ears) forget() {
	select {
	case <-e.wake:
	default:
	}
	select {
	case <-e.freed:
	default:
	}
}

// listen subscribes unless that is done already. The caller has queue.mu.
func (q *queue) listen() {
	if q.ears != nil {
		return
	}
	e := &ears{wake: make(chan cause, 1), freed: make(chan struct{}, 1)}
	q.ears = e
	q.afterRedisson.Store(false) // what was heard before is old
	// A message on the own channel is meant for us whatever it says. Messages are
	// hints: the head tries, and the scripts decide.
	e.own = q.c.hub.Listen(q.keys.Own(), func(ev pubsub.Event) {
		if ev.Kind == pubsub.Message {
			e.signal(byMessage)
		} else {
			e.signal(bySubscription) // what was published before is lost: try again
		}
	})
}

// overhear subscribes to Redisson's releases too, or ends that, by the answer that somebody
// else has the lock. Not every process that waits is to hear every release, ours
// included: that would cost more than all the rest. One is enough, since it takes the lock and
// then wakes the next. It is whoever comes first, for a forced unlock; and while Redisson has the lock or is
// to have it, whoever has seen that: the lock was free before, and the client that was woken
// found it taken. The caller has queue.mu.
func (q *queue) overhear(busy lua.Granted) {
	e := q.ears
	theirs := busy.Yielded || busy.Holder != "" && !ofRedlatch(busy.Holder)
	needed := theirs || busy.Rank == 0
	switch {
	case e == nil, needed == (e.common != nil):
		return
	case !needed:
		e.stopOverhearing()
		return
	}
	// Before the common one, and given up after it: a client that listens on the
	// common channel alone would pass for one of Redisson.
	e.listeners = q.c.hub.Listen(q.keys.Listeners(), func(pubsub.Event) {})
	e.common = q.c.hub.Listen(q.keys.Channel(), func(ev pubsub.Event) {
		switch {
		case ev.Kind == pubsub.Subscribed && !theirs:
			// Redisson had nothing to publish before.
		case ev.Kind != pubsub.Message:
			e.signal(bySubscription)
		case ev.Payload == wokenAlready:
			q.afterRedisson.Store(false)
		default:
			q.afterRedisson.Store(true)
			e.signalFreed()
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
	e := q.ears
	if e == nil {
		return
	}
	e.own.Close()
	e.stopOverhearing()
	q.ears = nil
}

func (e *ears) stopOverhearing() {
	if e.common != nil {
		e.common.Close()
		e.listeners.Close()
		e.common, e.listeners = nil, nil
	}
}
