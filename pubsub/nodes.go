package pubsub

import (
	"time"

	"github.com/redis/go-redis/v9"
)

// slot returns a slot for a channel that is about to become a member. The caller has Hub.mu, as for
// all functions that follow in this file.
func (r *router) slot(number int) *slot {
	s := r.slots[number]
	if s == nil {
		s = &slot{router: r, number: number, line: r.limbo}
		r.slots[number] = s
	}
	if s.line == r.limbo {
		r.list(s)
	}
	return s
}

func (r *router) list(s *slot) {
	if !s.waiting {
		s.waiting = true
		r.waiting = append(r.waiting, s)
	}
}

// vacate lets go of a slot without members. If the slot has failed before, the router remembers it
// for a while: otherwise a new listener each time would get around the backoff.
func (r *router) vacate(s *slot) {
	s.line = r.limbo
	switch {
	case s.waiting:
	case s.failures > 0:
		r.list(s)
	default:
		delete(r.slots, s.number)
	}
}

// node returns the node connection to client's node.
func (r *router) node(client *redis.Client) *nodeConn {
	addr := client.Options().Addr
	l := r.nodes[addr]
	if l == nil {
		l = newNodeConn(r.hub, addr, client)
		r.nodes[addr] = l
	}
	// go-redis makes a new client for a node that was away for a while, and closes
	// the old one.
	l.source = client
	return l
}

// channels counts the channels of all nodes, and the channels that are unassigned.
func (r *router) channels() int {
	n := len(r.limbo.registry.channels)
	for _, l := range r.nodes {
		n += len(l.registry.channels)
	}
	return n
}

// troubleLocked has go-redis look again where the slots are, and the router soon after it.
func (r *router) troubleLocked() {
	r.reload = true
	if r.pause >= lastCheck { // else checks are frequent enough already
		r.pause = firstCheck
	}
	now := time.Now()
	if at := now.Add(firstCheck); at.Before(r.checkAt) {
		r.checkAt = at
	}
	if r.wakesAt.After(now.Add(r.tick())) {
		r.notify()
	}
}

// trouble is called by a connection loop whose connection has failed.
func (r *router) trouble() {
	r.hub.mu.Lock()
	r.troubleLocked()
	r.hub.mu.Unlock()
}

// fallBack moves the slots of a node to the plain connection. The node's connection loop calls it
// when the node has no sharded pub/sub: SUBSCRIBE at any node hears what is published there.
func (r *router) fallBack(l *nodeConn) {
	h := r.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	l.plainUntil = time.Now().Add(verdict)
	if h.closed {
		return
	}
	for _, s := range r.slots {
		if s.line == l {
			s.moveTo(h.plain)
		}
	}
	if !h.plain.registry.idle() {
		h.plain.startLocked()
		h.plain.notify()
	}
}
