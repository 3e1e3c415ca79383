package reentrant

import (
	"github.com/redlatch/redlatch/lua"
	"github.com/redlatch/redlatch/pubsub"
)

// wakeups is the subscription of one queue: to the client's own channel, on which a
// release wakes it and, while Redisson is about, to what is needed to hear Redisson.
type wakeups struct {
	own *pubsub.Subscription

	// The lock's common channel, on which Redisson's releases are heard, and that of the
	// listeners, by which a release tells Go clients from Redisson's; nil unless they are needed (listenForRedisson).
	listeners, common *pubsub.Subscription

	// Capacity 1 each: the head shall try again.
	wake  chan cause    // it is its turn, or messages may have been missed
	freed chan struct{} // Redisson freed the lock: everybody's turn
}

// signal tells the head to try again. It never blocks; signals that nobody has
// taken yet are one.
func (w *wakeups) signal(why cause) {
	select {
	case w.wake <- why:
	default:
	}
}

// signalFreed is signal for a release by Redisson.
func (w *wakeups) signalFreed() {
	select {
	case w.freed <- struct{}{}:
	default:
	}
}

// drain drops the signals that nobody has taken yet.
func (w *wakeups) drain() {
	select {
	case <-w.wake:
	default:
	}
	select {
	case <-w.freed:
	default:
	}
}

// listen subscribes unless that is done already. The caller has lockState.mu.
func (s *lockState) listen() {
	if s.wakeups != nil {
		return
	}
	w := &wakeups{wake: make(chan cause, 1), freed: make(chan struct{}, 1)}
	s.wakeups = w
	s.afterRedisson.Store(false) // what was heard before is old
	// A message on the own channel is meant for us whatever it says. Messages are
	// hints: the head tries, and the scripts decide.
	w.own = s.c.hub.Listen(s.keys.Own(), func(ev pubsub.Event) {
		if ev.Kind == pubsub.Message {
			w.signal(byMessage)
		} else {
			w.signal(bySubscription) // what was published before is lost: try again
		}
	})
}

// listenForRedisson subscribes to Redisson's releases too, or ends that, by the answer that somebody
// else has the lock. Not every process that waits is to hear every release, ours
// included: that would cost more than all the rest. One is enough, since it takes the lock and
// then wakes the next. It is whoever comes first, for a forced unlock; and while Redisson has the lock or is
// to have it, whoever has seen that: the lock was free before, and the client that was woken
// found it taken. The caller has lockState.mu.
func (s *lockState) listenForRedisson(busy lua.Granted) {
	w := s.wakeups
	theirs := busy.Yielded || busy.Holder != "" && !ofRedlatch(busy.Holder)
	needed := theirs || busy.Rank == 0
	switch {
	case w == nil, needed == (w.common != nil):
		return
	case !needed:
		w.stopListeningForRedisson()
		return
	}
	// Before the common one, and given up after it: a client that listens on the
	// common channel alone would pass for one of Redisson.
	w.listeners = s.c.hub.Listen(s.keys.Listeners(), func(pubsub.Event) {})
	w.common = s.c.hub.Listen(s.keys.Channel(), func(ev pubsub.Event) {
		switch {
		case ev.Kind == pubsub.Subscribed && !theirs:
			// Redisson had nothing to publish before.
		case ev.Kind != pubsub.Message:
			w.signal(bySubscription)
		case ev.Payload == wokenAlready:
			s.afterRedisson.Store(false)
		default:
			s.afterRedisson.Store(true)
			w.signalFreed()
		}
	})
}

// wokenAlready is what a Go release publishes on the common channel: one waiter
// was woken on its own channel. Redisson reads it as the number 0, a release.
const wokenAlready = "-0"

// listening reports whether messages to this client would arrive.
func (s *lockState) listening() bool {
	return s.wakeups != nil && s.wakeups.own.Confirmed()
}

// stopListening ends the subscription. The caller has lockState.mu.
func (s *lockState) stopListening() {
	w := s.wakeups
	if w == nil {
		return
	}
	w.own.Close()
	w.stopListeningForRedisson()
	s.wakeups = nil
}

func (w *wakeups) stopListeningForRedisson() {
	if w.common != nil {
		w.common.Close()
		w.listeners.Close()
		w.common, w.listeners = nil, nil
	}
}
