package pubsub

import (
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// lookup is a question to go-redis: which node serves a slot?
type lookup struct {
	slot    *slot
	line    *nodeConn // the slot's node connection when the question came up
	channel string    // a channel in the slot

	client *redis.Client // the answer
}

// due returns the waiting slots that are due to be looked up, and forgets slots that no channel
// needs.
func (r *router) due(now time.Time) (due []*lookup) {
	r.limbo.registry.pending = nil // limbo is never started: it sends nothing
	waiting, may := r.waiting[:0], !now.Before(r.lookup.retryAt)
	for _, s := range r.waiting {
		switch {
		case len(s.members) == 0 && (s.failures == 0 || now.After(s.retryAt.Add(r.hub.cfg.MaxBackoff))):
			s.waiting = false
			delete(r.slots, s.number)
			continue
		case may && len(s.members) > 0 && !now.Before(s.retryAt):
			due = append(due, &lookup{slot: s, line: s.line, channel: s.members[0].name})
		}
		waiting = append(waiting, s)
	}
	clear(r.waiting[len(waiting):])
	r.waiting = waiting
	return due
}

// check returns a lookup for each slot that has a node already, and sets the next check.
func (r *router) check(now time.Time) (due []*lookup) {
	for _, s := range r.slots {
		if s.line != r.limbo && len(s.members) > 0 {
			due = append(due, &lookup{slot: s, line: s.line, channel: s.members[0].name})
		}
	}
	for addr, l := range r.nodes {
		// Its backoff and its answer about sharded pub/sub have expired, so it holds nothing of use.
		if !l.running && now.After(l.loop.retryAt) && now.After(l.plainUntil) {
			delete(r.nodes, addr)
		}
	}
	r.reload = r.reload || r.pause < lastReload
	r.pause = min(2*r.pause, lastCheck)
	r.checkAt = now.Add(r.pause)
	return due
}

// locate answers the lookups from go-redis' map, which costs no I/O once go-redis has one. An error
// means that it has none, for any slot.
func (r *router) locate(due []*lookup) error {
	for _, q := range due {
		var err error
		if q.client, err = r.cluster.MasterForKey(r.hub.ctx, q.channel); err != nil {
			return err
		}
	}
	return nil
}

// unknown notes that go-redis knows no node.
func (r *router) unknown(due []*lookup, err error) {
	for _, q := range due {
		if q.slot.line == r.limbo && q.slot.cause == nil {
			q.slot.cause = err
		}
	}
	r.lookup.failed(time.Now(), r.lookup.ceiling(&r.hub.cfg))
}

// assign moves the slots to the nodes that the lookups have found.
func (r *router) assign(due []*lookup) {
	if r.hub.closed {
		return
	}
	now := time.Now()
	for _, q := range due {
		s := q.slot
		if s.line != q.line || len(s.members) == 0 {
			continue // the slot has moved meanwhile, or no channel needs it
		}
		to := r.node(q.client)
		if now.Before(to.plainUntil) {
			to = r.hub.plain
		}
		if to == s.line {
			s.doubt = ""
			continue
		}
		if !s.mayMove(to) {
			continue
		}
		if s.line != r.limbo && s.cause == nil {
			s.cause = errDropped
		}
		s.moveTo(to)
		to.startLocked()
		to.notify()
	}
	r.waiting = slices.DeleteFunc(r.waiting, func(s *slot) bool {
		s.waiting = s.line == r.limbo
		return !s.waiting
	})
}

// mayMove reports whether a slot is to go to another node connection. go-redis may have asked a node
// that is behind the times: a connection that works is left only when two checks in a row say so.
func (s *slot) mayMove(to *nodeConn) bool {
	if s.line == s.router.limbo || !s.line.up || !s.line.sharded() || s.doubt == to.node {
		return true
	}
	s.doubt = to.node
	return false
}
