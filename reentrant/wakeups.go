package reentrant

import (
	"github.com/redlatch/redlatch/lua"
	"github.com/redlatch/redlatch/pubsub"
)

// wakeups are the subscriptions of one lock state. It subscribes to the Client's own channel, on which a
// release wakes this Client. Where listenForRedisson says so, it also subscribes to the two channels by
// which a Client hears Redisson.
type wakeups struct {
	own *pubsub.Subscription

	// common is the lock's common channel, on which Redisson publishes its releases. listeners is the
	// channel by which a release tells Go clients from Redisson's. Both are nil unless needed
	// (listenForRedisson).
	listeners, common *pubsub.Subscription

	// told is the channel on which Redisson tells the waiter of a fair lock with that ticket that it is its turn. It is
	// nil unless needed (listenInLine).
	told   *pubsub.Subscription
	ticket string

	// Capacity 1 each. A signal makes the first waiter try again.
	wake  chan cause    // it is this Client's turn, or messages may have been missed
	freed chan struct{} // Redisson freed the lock: every Client may try
}

// signal makes the first waiter try again. It never blocks: signals that the waiter has not taken yet are
// one signal.
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

// drain drops the signals that the first waiter has not taken yet.
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

// listen subscribes to the Client's own channel, once. The caller has lockState.mu.
func (s *lockState) listen() {
	if s.wakeups != nil {
		return
	}
	w := &wakeups{wake: make(chan cause, 1), freed: make(chan struct{}, 1)}
	s.wakeups = w
	s.afterRedisson.Store(false) // what this Client heard before is out of date
	// A message on the own channel is for this Client, whatever it says. The one that names the nonce of the
	// last attempt grants the lock (grant.go). Any other is a hint: the first waiter tries, and the scripts decide.
	w.own = s.c.hub.Listen(s.kind.ownChannel(&s.keys), func(ev pubsub.Event) {
		if ev.Kind == pubsub.Message {
			s.afterRedisson.Store(false) // a release by Redlatch has sent it
			s.sequencer.expected.Load().hear(ev.Payload)
			w.signal(byMessage)
		} else {
			w.signal(bySubscription) // what was published before is lost: try again
		}
	})
}

// listenForRedisson subscribes to Redisson's releases, or ends that. busy is the answer that another
// owner has the lock, and decides which. If every process that waits heard every release, ours included,
// that would cost more than all the rest. One is enough: it takes the lock and then wakes the next one.
// The Clients that listen are:
//
//   - The first Client in the registry of waiters, for a forced unlock.
//   - While Redisson has the lock or is to have it, every Client that has seen that. There is one: the
//     lock was free before, and the Client that was woken found it taken.
//
// The caller has lockState.mu.
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
	// Subscribe to listeners before common, and unsubscribe after it. A client that listens on the common
	// channel alone counts as one of Redisson.
	common, listeners := s.kind.commonChannel(&s.keys)
	w.listeners = s.c.hub.Listen(listeners, func(pubsub.Event) {})
	w.common = s.c.hub.Listen(common, func(ev pubsub.Event) {
		switch {
		case ev.Kind == pubsub.Subscribed && !theirs:
			// Redisson did not have the lock, so no release of its was missed.
		case ev.Kind != pubsub.Message:
			w.signal(bySubscription)
		case ev.Payload == wokenAlready, ev.Payload == wokenAll:
			s.afterRedisson.Store(false)
		default:
			s.afterRedisson.Store(true)
			w.signalFreed()
		}
	})
}

// wokenAlready is what a release by Redlatch publishes on the common channel. It says that the release
// has woken one waiter on that waiter's own channel. Redisson reads it as the number 0, a release.
const wokenAlready = "-0"

// wokenAll is what a release of a write by Redlatch publishes before it. Redisson reads it as the number 1, by which it
// wakes all its threads.
const wokenAll = "01"

// listening reports whether wake-ups to this Client would arrive.
func (s *lockState) listening() bool {
	return s.wakeups != nil && s.wakeups.own.Confirmed()
}

// stopListening ends the subscriptions. The caller has lockState.mu.
func (s *lockState) stopListening() {
	w := s.wakeups
	if w == nil {
		return
	}
	w.own.Close()
	w.stopListeningForRedisson()
	w.stopListeningInLine()
	s.wakeups = nil
}

func (w *wakeups) stopListeningForRedisson() {
	if w.common != nil {
		w.common.Close()
		w.listeners.Close()
		w.common, w.listeners = nil, nil
	}
}
