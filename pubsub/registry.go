package pubsub

import (
	"cmp"
	"container/list"
	"errors"
	"slices"
	"time"
)

// maxLingering caps the channels that stay subscribed without a listener. So churn over many names
// costs Redis and the hub a fixed amount of memory, whatever Config.Linger is.
const maxLingering = 1024

// errUnasked means that Redis answered a command that was not sent on this connection, as far as is
// known. go-redis has then reconnected by itself, and messages may have been missed.
var errUnasked = errors.New("pubsub: reply to a command that was not sent")

// registry is the set of channels of a node connection: what is wanted, what was sent, what was
// answered. It does no I/O. Hub.mu guards all of it.
type registry struct {
	line      *nodeConn
	channels  map[string]*channel // every channel that is wanted, or sent, or awaited
	listened  int                 // how many of them have a listener
	lingering list.List           // of *channel that are wanted without a listener; front: expires first
	pending   []*channel          // channels for which wanted and sent may differ, each once
	born      uint64              // how many channels there have been
	linger    time.Duration
}

// channel is guarded by Hub.mu, except its name and line, which do not change.
type channel struct {
	name      string
	line      *nodeConn       // does not change either
	born      uint64          // orders the channels by age: they are subscribed in the order of Listen
	slot      *slot           // in a cluster, while the slot is at line too
	place     int             // in slot.members
	listeners []*Subscription // in no order
	linger    *list.Element   // in registry.lingering, or nil
	expires   time.Time       // when it stops lingering
	queued    bool            // whether it is in registry.pending
	sent      bool            // whether the last command for it on this connection is SUBSCRIBE
	awaited   bool            // whether that command is without an answer
	there     bool            // whether Redis has it on this connection, by its last answer
}

func (ch *channel) wanted() bool    { return len(ch.listeners) > 0 || ch.linger != nil }
func (ch *channel) confirmed() bool { return ch.sent && !ch.awaited }

// call is one event for one listener, made under Hub.mu and delivered after.
type call struct {
	to   *Subscription
	kind Kind
}

// add makes s a listener of the named channel. It reports whether the channel is confirmed; s then
// counts as told so.
func (r *registry) add(s *Subscription, name string) (confirmed bool) {
	ch := r.channel(name)
	if len(ch.listeners) == 0 {
		r.listened++
		r.stopLingering(ch)
	}
	s.channel, s.index = ch, len(ch.listeners)
	ch.listeners = append(ch.listeners, s)
	if !ch.sent {
		r.queue(ch)
	}
	s.seen = ch.confirmed()
	return s.seen
}

// channel returns the named channel, a new one if there is none.
func (r *registry) channel(name string) *channel {
	ch := r.channels[name]
	if ch == nil {
		r.born++
		ch = &channel{name: name, line: r.line, born: r.born}
		r.channels[name] = ch
	}
	return ch
}

// forget drops a channel that is neither wanted nor awaited.
func (r *registry) forget(ch *channel) {
	delete(r.channels, ch.name)
	if ch.slot != nil {
		ch.slot.leave(ch)
	}
}

// discard drops a channel that is neither wanted nor awaited. Redis may have it all the same, if it
// was to be subscribed anew; then it is unsubscribed first.
func (r *registry) discard(ch *channel) {
	if ch.there {
		ch.sent = true
		r.queue(ch)
		return
	}
	r.forget(ch)
}

// remove takes s from its channel. It reports whether the connection loop should look.
func (r *registry) remove(s *Subscription, now time.Time) (work bool) {
	ch := s.channel
	last := len(ch.listeners) - 1
	ch.listeners[s.index] = ch.listeners[last]
	ch.listeners[s.index].index = s.index
	ch.listeners[last] = nil
	ch.listeners = ch.listeners[:last]
	if last > 0 {
		return false
	}
	r.listened--
	switch {
	case ch.sent && r.linger > 0:
		ch.linger, ch.expires = r.lingering.PushBack(ch), now.Add(r.linger)
		if r.lingering.Len() > maxLingering {
			r.expire(r.lingering.Front().Value.(*channel))
		}
		// A timer is set already unless this one is the first.
		return len(r.pending) > 0 || r.lingering.Len() == 1
	case ch.sent:
		r.queue(ch)
	case !ch.awaited:
		r.discard(ch)
	}
	return true
}

func (r *registry) queue(ch *channel) {
	if !ch.queued {
		ch.queued = true
		r.pending = append(r.pending, ch)
	}
}

func (r *registry) stopLingering(ch *channel) {
	if ch.linger != nil {
		r.lingering.Remove(ch.linger)
		ch.linger = nil
	}
}

func (r *registry) expire(ch *channel) {
	r.stopLingering(ch)
	r.queue(ch)
}

// sweep expires the channels that have lingered long enough. It returns when it should be called
// again, or the zero time. That is a while after the next channel expires. So there are at most eight
// sweeps, and commands, in the time of one Linger, however many channels come and go.
func (r *registry) sweep(now time.Time) (next time.Time) {
	for e := r.lingering.Front(); e != nil; e = r.lingering.Front() {
		ch := e.Value.(*channel)
		if now.Before(ch.expires) {
			return ch.expires.Add(r.linger / 8)
		}
		r.expire(ch)
	}
	return time.Time{}
}

// idle reports whether no channel is wanted.
func (r *registry) idle() bool { return r.listened == 0 && r.lingering.Len() == 0 }

// collect returns the channels for which a command must be sent. They count as sent and awaited from
// here on, since the reader may see an answer before the writer's call has returned. The caller has
// made sure that no channel is awaited from before.
func (r *registry) collect() (subscribe, unsubscribe []string) {
	for _, ch := range r.pending {
		ch.queued = false
		if ch.wanted() == ch.sent {
			continue // the channel was wanted, unwanted and wanted again since it was queued
		}
		ch.sent, ch.awaited = !ch.sent, true
		if ch.sent {
			subscribe = append(subscribe, ch.name)
		} else {
			unsubscribe = append(unsubscribe, ch.name)
		}
	}
	r.pending = nil
	return subscribe, unsubscribe
}

// answered notes one answer to a SUBSCRIBE (or an UNSUBSCRIBE) and appends to calls what to tell the
// listeners.
func (r *registry) answered(name string, subscribed bool, calls []call) ([]call, error) {
	ch := r.channels[name]
	if ch == nil || !ch.awaited || subscribed != ch.sent {
		return calls, errUnasked
	}
	ch.awaited, ch.there = false, ch.sent
	switch {
	case ch.sent:
		if ch.slot != nil {
			ch.slot.serves(time.Now())
		}
		for _, s := range ch.listeners {
			kind := Resubscribed
			if !s.seen {
				kind, s.seen = Subscribed, true
			}
			calls = append(calls, call{s, kind})
		}
	case !ch.wanted():
		r.forget(ch)
	}
	return calls, nil
}

// published appends to calls what to tell the listeners of a message. It leaves out a listener that
// was not told Subscribed yet: that one will look for itself when it is told.
func (r *registry) published(name string, calls []call) []call {
	ch := r.channels[name]
	if ch == nil {
		return calls
	}
	for _, s := range ch.listeners {
		if s.seen {
			calls = append(calls, call{s, Message})
		}
	}
	return calls
}

// reset forgets everything about the connection, which has ended, and the channels without listeners.
// The others are pending again, in their order.
func (r *registry) reset() {
	r.lingering.Init()
	r.pending = nil
	var kept []*channel
	for _, ch := range r.channels {
		ch.linger, ch.queued, ch.sent, ch.awaited, ch.there = nil, false, false, false, false
		if len(ch.listeners) == 0 {
			r.forget(ch)
			continue
		}
		kept = append(kept, ch)
	}
	slices.SortFunc(kept, byAge)
	for _, ch := range kept {
		r.queue(ch)
	}
}

func byAge(a, b *channel) int { return cmp.Compare(a.born, b.born) }
