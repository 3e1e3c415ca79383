package pubsub

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// The router compares where the slots are with where go-redis believes them to be,
// soon after something went wrong and then less and less often.
const (
	firstCheck = 50 * time.Millisecond
	lastCheck  = 10 * time.Second

	// lastReload is the longest pause after which go-redis is asked to renew its map.
	lastReload = time.Second
)

// cluster is what the router needs of a *redis.ClusterClient.
type cluster interface {
	Subscriber
	MasterForKey(ctx context.Context, key string) (*redis.Client, error)
	ReloadState(ctx context.Context)
}

// asCluster returns rdb if it is a client of a Redis Cluster, else nil.
func asCluster(rdb Subscriber) cluster {
	if client, ok := rdb.(*redis.ClusterClient); ok && client.Options().ClusterSlots != nil {
		// Servers that the caller has put together, a Sentinel group for one: they are
		// no cluster to themselves, nor to Redisson.
		return nil
	}
	c, _ := rdb.(cluster)
	return c
}

// router finds the node of each slot, and finds it again when the slot has moved.
type router struct {
	hub     *Hub
	cluster cluster
	wake    chan struct{}

	// All guarded by Hub.mu.
	slots   map[int]*slot    // those with channels, and those whose backoff is remembered
	waiting []*slot          // those whose node is to be found
	nodes   map[string]*line // by address
	limbo   *line            // has the channels of the waiting slots; it is never started
	running bool
	stopped chan struct{} // of the latest run, closed when it ends; nil before the first

	lookup  backoff       // between attempts to ask go-redis for a node
	reload  bool          // whether go-redis' map is to be renewed
	checkAt time.Time     // when the slots are compared with it next
	pause   time.Duration // between the last two checks
	wakesAt time.Time     // when the router will look next, if it is not told to before
}

func newRouter(h *Hub, c cluster) *router {
	r := &router{
		hub: h, cluster: c, wake: make(chan struct{}, 1),
		slots: make(map[int]*slot), nodes: make(map[string]*line),
	}
	r.limbo = newLine(h, "", nil)
	r.limbo.wake = r.wake
	return r
}

func (r *router) poke() { poke(r.wake) }

func (r *router) startLocked() {
	if r.running {
		return
	}
	r.running = true
	r.stopped = make(chan struct{})
	r.pause = lastCheck
	r.checkAt = time.Now().Add(lastCheck)
	go r.run()
}

// run serves the waiting slots until the hub is closed or no line runs any more. It
// ends after all lines have.
func (r *router) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for !r.retire() {
		timer.Reset(time.Until(r.round()))
		select {
		case <-timer.C:
		case <-r.wake:
		case <-r.hub.ctx.Done():
			r.await()
		}
	}
}

// await waits for the lines of a closed hub, which starts none any more.
func (r *router) await() {
	r.hub.mu.Lock()
	running := r.lines()
	r.hub.mu.Unlock()
	for _, stopped := range running {
		<-stopped
	}
}

// lines returns when those lines that run will have stopped. The caller has Hub.mu.
func (r *router) lines() (stopped []<-chan struct{}) {
	if l := r.hub.plain; l.running {
		stopped = append(stopped, l.stopped)
	}
	for _, l := range r.nodes {
		if l.running {
			stopped = append(stopped, l.stopped)
		}
	}
	return stopped
}

// retire is line.retire for the router.
func (r *router) retire() bool {
	h := r.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(r.lines()) > 0 || !h.closed && !r.limbo.registry.idle() {
		return false
	}
	for _, ch := range r.limbo.registry.channels {
		r.limbo.registry.forget(ch)
	}
	r.running = false
	close(r.stopped)
	return true
}

// round does what is due and returns when something will be.
func (r *router) round() (next time.Time) {
	h, now := r.hub, time.Now()
	h.mu.Lock()
	due := r.due(now)
	if !now.Before(r.checkAt) {
		due = append(due, r.check(now)...)
	}
	reload := r.reload
	r.reload = false
	h.mu.Unlock()

	if reload {
		r.cluster.ReloadState(h.ctx)
	}
	err := r.locate(due)

	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err != nil:
		r.unknown(due, err)
	case len(due) > 0:
		r.lookup = backoff{}
		r.assign(due)
	}
	next = r.checkAt
	for _, s := range r.waiting {
		if at := later(s.retryAt, r.lookup.retryAt); len(s.members) > 0 && at.Before(next) {
			next = at
		}
	}
	next = later(next, now.Add(r.tick()))
	r.wakesAt = next
	return next
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// tick is the least time between two rounds that no listener calls for: slots that
// are due soon after each other go together. The more of them wait, the longer it is,
// so that a round costs the same share of time.
func (r *router) tick() time.Duration {
	return max(r.hub.cfg.MinBackoff/4, time.Duration(len(r.waiting))*perSlot/32)
}

// inquiry is the question where a slot is.
type inquiry struct {
	slot    *slot
	line    *line  // where the slot was when the question came up
	channel string // some channel in it

	client *redis.Client // the answer
}

// due returns the waiting slots whose turn it is, and forgets those that nobody needs.
func (r *router) due(now time.Time) (due []*inquiry) {
	r.limbo.registry.pending = nil // nothing is sent for them there
	waiting, may := r.waiting[:0], !now.Before(r.lookup.retryAt)
	for _, s := range r.waiting {
		switch {
		case len(s.members) == 0 && (s.failures == 0 || now.After(s.retryAt.Add(r.hub.cfg.MaxBackoff))):
			s.waiting = false
			delete(r.slots, s.number)
			continue
		case may && len(s.members) > 0 && !now.Before(s.retryAt):
			due = append(due, &inquiry{slot: s, line: s.line, channel: s.members[0].name})
		}
		waiting = append(waiting, s)
	}
	clear(r.waiting[len(waiting):])
	r.waiting = waiting
	return due
}

// check asks for the slots that have a node already, and sets the next check.
func (r *router) check(now time.Time) (due []*inquiry) {
	for _, s := range r.slots {
		if s.line != r.limbo && len(s.members) > 0 {
			due = append(due, &inquiry{slot: s, line: s.line, channel: s.members[0].name})
		}
	}
	for addr, l := range r.nodes {
		// The rest of what it knows is old.
		if !l.running && now.After(l.manager.retryAt) && now.After(l.plainUntil) {
			delete(r.nodes, addr)
		}
	}
	r.reload = r.reload || r.pause < lastReload
	r.pause = min(2*r.pause, lastCheck)
	r.checkAt = now.Add(r.pause)
	return due
}

// locate answers the inquiries from go-redis' map, which costs no I/O once go-redis
// has one. An error means that it has none, for any slot.
func (r *router) locate(due []*inquiry) error {
	for _, q := range due {
		var err error
		if q.client, err = r.cluster.MasterForKey(r.hub.ctx, q.channel); err != nil {
			return err
		}
	}
	return nil
}

// unknown takes note that go-redis knows no node.
func (r *router) unknown(due []*inquiry, err error) {
	for _, q := range due {
		if q.slot.line == r.limbo && q.slot.cause == nil {
			q.slot.cause = err
		}
	}
	r.lookup.failed(time.Now(), r.lookup.ceiling(&r.hub.cfg))
}

// assign acts on the answers.
func (r *router) assign(due []*inquiry) {
	if r.hub.closed {
		return
	}
	now := time.Now()
	for _, q := range due {
		s := q.slot
		if s.line != q.line || len(s.members) == 0 {
			continue // it has moved meanwhile, or nobody needs it
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
		to.poke()
	}
	r.waiting = slices.DeleteFunc(r.waiting, func(s *slot) bool {
		s.waiting = s.line == r.limbo
		return !s.waiting
	})
}

// mayMove reports whether a slot is to go to another line. go-redis may have asked a
// node that is behind the times: a line that works is left only when two checks in a
// row say so.
func (s *slot) mayMove(to *line) bool {
	if s.line == s.router.limbo || !s.line.up || !s.line.sharded() || s.doubt == to.node {
		return true
	}
	s.doubt = to.node
	return false
}
