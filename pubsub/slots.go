package pubsub

import (
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/hashslot"
)

// perSlot bounds the rate of attempts when many slots wait to be subscribed anew: on average one
// attempt each perSlot/2.
const perSlot = 2 * time.Millisecond

// slot is a hash slot with channels in it. Hub.mu guards all of it.
type slot struct {
	router    *router
	number    int
	line      *nodeConn  // of its channels; the router's limbo while no node is known
	members   []*channel // all channels of the slot in the registry of line, in no order
	waiting   bool       // whether the slot is in router.waiting
	confirmed time.Time  // since when the node of line serves it; zero while that is not known
	cause     error      // why it was lost last; nil if that was reported, or there is nothing to report
	doubt     string     // the node that the last check found, if it was another one

	backoff // between attempts to subscribe
}

// join makes a channel a member. Channel and slot must be at the same node connection.
func (s *slot) join(ch *channel) {
	if ch.slot == nil {
		ch.slot, ch.place = s, len(s.members)
		s.members = append(s.members, ch)
	}
}

// leave takes a channel out of the members. With the last one the slot is vacated.
func (s *slot) leave(ch *channel) {
	last := len(s.members) - 1
	s.members[ch.place] = s.members[last]
	s.members[ch.place].place = ch.place
	s.members[last] = nil
	s.members = s.members[:last]
	ch.slot = nil
	if last == 0 {
		s.router.vacate(s)
	}
}

// moveTo takes the listeners of a slot to another node connection. Listeners that were told
// Subscribed will be told Resubscribed there.
func (s *slot) moveTo(to *nodeConn) {
	from, members := s.line, s.members
	s.line, s.members, s.confirmed, s.doubt = to, nil, time.Time{}, ""
	slices.SortFunc(members, byAge)
	for _, ch := range members {
		ch.slot = nil
		if listeners := from.registry.evict(ch); len(listeners) > 0 {
			s.join(to.registry.admit(ch.name, listeners))
		}
	}
	switch {
	case len(s.members) == 0:
		s.router.vacate(s)
	case to == s.router.limbo:
		s.router.list(s)
	}
	if from != s.router.limbo {
		from.notify() // it may have to unsubscribe, or to end
	}
}

// lost takes a slot away from the node connection, for the router to look for it. gone means that the
// node has ended all subscriptions in it, or knows of none.
func (l *nodeConn) lost(number int, err error, gone bool) {
	r := l.hub.router
	s := r.slots[number]
	if s == nil || s.line != l {
		return
	}
	if gone {
		for _, ch := range s.members {
			ch.there = false
			if ch.confirmed() {
				ch.sent = false
			}
		}
	}
	s.failed(err)
	s.moveTo(r.limbo)
	r.troubleLocked()
}

// dropped notes that the node has ended a subscription by itself. It ends all subscriptions in a slot
// when it does not serve the slot any more.
func (l *nodeConn) dropped(name string) {
	ch := l.registry.channels[name]
	if ch != nil {
		ch.there = false
	}
	if ch == nil || !ch.confirmed() {
		return // the slot was lost with its first channel
	}
	ch.sent = false
	if !ch.wanted() {
		l.registry.forget(ch)
		return
	}
	l.lost(hashslot.Of(name), errDropped, true)
}

// serves notes that Redis has confirmed a channel of the slot.
func (s *slot) serves(now time.Time) {
	if s.confirmed.IsZero() {
		s.confirmed = now
	}
	if s.cause != nil {
		s.line.carried, s.cause = s.cause, nil
	}
}

// failed notes a refusal, or the loss of the slot.
func (s *slot) failed(err error) {
	now, cfg := time.Now(), &s.router.hub.cfg
	if s.cause == nil {
		s.cause = err
	}
	if !s.confirmed.IsZero() {
		s.worked(now.Sub(s.confirmed), cfg)
	}
	s.backoff.failed(now, max(s.ceiling(cfg), time.Duration(len(s.router.waiting))*perSlot))
}

// evict takes the listeners out of a channel. The channel itself goes when Redis has answered the
// commands that were sent for it.
func (r *registry) evict(ch *channel) []*Subscription {
	listeners := ch.listeners
	ch.listeners = nil
	if len(listeners) > 0 {
		r.listened--
	}
	r.stopLingering(ch)
	switch {
	case ch.sent:
		r.queue(ch)
	case !ch.awaited:
		r.discard(ch)
	}
	return listeners
}

// admit makes a channel for listeners from another node connection.
func (r *registry) admit(name string, listeners []*Subscription) *channel {
	ch := r.channel(name)
	ch.listeners = listeners
	for i, s := range listeners {
		s.channel, s.index = ch, i
	}
	r.listened++
	if ch.confirmed() {
		// The channel is left from before and not unsubscribed yet. Redis answers a second SSUBSCRIBE
		// as the first one, and so the listeners are told.
		ch.sent = false
	}
	if !ch.sent {
		r.queue(ch)
	}
	return ch
}

// refused notes that Redis has refused a command: none of its channels is subscribed by it. gone
// means that Redis has none of them from before either.
func (r *registry) refused(names []string, gone bool) {
	for _, name := range names {
		ch := r.channels[name]
		if ch == nil || !ch.awaited {
			continue
		}
		ch.sent, ch.awaited, ch.there = false, false, ch.there && !gone
		if ch.wanted() {
			r.queue(ch)
		} else {
			r.discard(ch)
		}
	}
}
