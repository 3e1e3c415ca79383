package pubsub

import (
	"sync"
	"sync/atomic"
	"time"
)

// Kind says what an Event is about.
type Kind int

const (
	// Message: something was published on the channel.
	Message Kind = iota + 1

	// Subscribed: Redis has confirmed the channel for the first time since
	// Listen was called, or had confirmed it before, for another listener. It
	// is the first event of every listener and comes once. What is published
	// from now on is heard, as long as the connection lasts.
	Subscribed

	// Resubscribed: the connection was replaced, or the channel's slot went to
	// another node, and Redis has confirmed the channel anew. Messages may have
	// been missed.
	Resubscribed
)

// An Event is what a Listener is told.
type Event struct {
	Kind    Kind
	Channel string
	Payload string // of a Message, else empty
}

// A Listener is called with the events of one channel, one at a time, in order.
// It is called from the goroutine that reads the connection, on which all other
// listeners of that connection wait, and for an immediate Subscribed from within
// Hub.Listen: it must not block. It may call Hub.Listen, Hub.Channels and the methods of any
// Subscription, its own included, but not Hub.Close.
type Listener func(Event)

// A Subscription is one listener's share in a channel.
type Subscription struct {
	hub      *Hub
	listener Listener
	closed   atomic.Bool

	// calling is held during each call of the listener. Listen holds it from
	// before the listener can be found by the reader, so that the reader cannot
	// get ahead of an immediate Subscribed.
	calling sync.Mutex

	channel *channel // guarded by hub.mu; another one when the channel moves
	index   int      // in channel.listeners; guarded by hub.mu
	seen    bool     // whether Subscribed was delivered or is about to be; guarded by hub.mu
}

// Listen has l called with the events of a channel, from now until the
// Subscription is closed. Several listeners may share a channel. Listen does no
// I/O and does not wait for any: Redis' confirmation arrives as Subscribed,
// before Listen returns if the channel is confirmed already. After Hub.Close, l
// is never called.
func (h *Hub) Listen(channel string, l Listener) *Subscription {
	s := &Subscription{hub: h, listener: l}
	s.calling.Lock()
	defer s.calling.Unlock()

	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		s.closed.Store(true)
		return s
	}
	line, slot := h.place(channel)
	confirmed := line.registry.add(s, channel)
	if slot != nil {
		slot.join(s.channel)
	}
	work := len(line.registry.pending) > 0
	h.startLocked(line)
	if confirmed {
		h.calling++
	}
	h.mu.Unlock()

	if work {
		line.notify()
	}
	if confirmed {
		defer h.done()
		l(Event{Kind: Subscribed, Channel: channel})
	}
	return s
}

// done lets Close go on after the last call of a listener that Listen makes itself.
func (h *Hub) done() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.calling--; h.calling == 0 && h.called != nil {
		close(h.called)
	}
}

// Confirmed reports whether Redis has confirmed the channel on the present connection. It may have
// changed by the time the caller looks at it, and the connection may be dead although the hub has not
// noticed it yet. It is false after Close.
func (s *Subscription) Confirmed() bool {
	if s.closed.Load() {
		return false
	}
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	return s.channel.confirmed()
}

// Close ends the listener's share in the channel. It does not wait: a call of the listener that was
// under way, or just being begun, when Close was called may still run after it has returned. That is
// at most one call; none follows it. If Close waited for it, it would block on the listener, and
// deadlock when the listener is the caller.
func (s *Subscription) Close() {
	if s.closed.Swap(true) {
		return
	}
	h := s.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if line := s.channel.line; !h.closed && line.registry.remove(s, time.Now()) {
		line.notify()
	}
}

// deliver calls the listener unless the subscription was closed.
func (s *Subscription) deliver(ev Event) {
	s.calling.Lock()
	defer s.calling.Unlock()
	if !s.closed.Load() {
		s.listener(ev)
	}
}
