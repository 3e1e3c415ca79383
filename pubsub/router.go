package pubsub

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// The router compares the places of the slots with go-redis' map, soon after something went wrong and
// then less and less often.
const (
	firstCheck = 50 * time.Millisecond
	lastCheck  = 10 * time.Second

	// lastReload is the longest pause between two checks after which go-redis is asked to renew its
	// map.
	lastReload = time.Second
)

// cluster is what the router needs of a *redis.ClusterClient.
type cluster interface {
	Subscriber
	MasterForKey(ctx context.Context, key string) (*redis.Client, error)
	ReloadState(ctx context.Context)
}

// asCluster returns rdb if it is a client of a Redis Cluster, else nil. It goes by rdb's methods, not
// by its type: rdb may be a wrapper of the client.
func asCluster(rdb Subscriber) cluster {
	client, ok := rdb.(interface{ Options() *redis.ClusterOptions })
	if ok && client.Options().ClusterSlots != nil {
		// The caller has put these servers together, a Sentinel group for one. Neither they nor
		// Redisson regard them as a cluster.
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
	slots   map[int]*slot        // slots with channels, and slots whose backoff is remembered
	waiting []*slot              // slots whose node is to be found
	nodes   map[string]*nodeConn // by address
	limbo   *nodeConn            // has the unassigned channels, of the waiting slots; it is never started
	running bool
	stopped chan struct{} // of the latest run, closed when it ends; nil before the first

	lookup  backoff       // between attempts to ask go-redis for a node
	reload  bool          // whether go-redis' map is to be renewed
	checkAt time.Time     // when the slots are compared with the map next
	pause   time.Duration // between the last two checks
	wakesAt time.Time     // when the router will look next, unless it is woken before
}

func newRouter(h *Hub, c cluster) *router {
	r := &router{
		hub: h, cluster: c, wake: make(chan struct{}, 1),
		slots: make(map[int]*slot), nodes: make(map[string]*nodeConn),
	}
	r.limbo = newNodeConn(h, "", nil)
	r.limbo.wake = r.wake
	return r
}

func (r *router) notify() { notify(r.wake) }

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

// run serves the waiting slots until the hub is closed or no connection loop runs any more. It ends
// after all connection loops have ended.
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

// await waits for the connection loops of a closed hub, which starts no new ones.
func (r *router) await() {
	r.hub.mu.Lock()
	running := r.lines()
	r.hub.mu.Unlock()
	for _, stopped := range running {
		<-stopped
	}
}

// lines returns, for each connection loop that runs, the channel that is closed when it ends. The
// caller has Hub.mu.
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

// retire ends the run of the router, as nodeConn.retire ends a connection loop's.
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

// round does what is due, and returns when it should be called again.
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

// tick is the least time between two rounds that no listener calls for: slots that are due soon after
// each other go together. It grows with the number of slots that wait, so that rounds take the same
// share of time.
func (r *router) tick() time.Duration {
	return max(r.hub.cfg.MinBackoff/4, time.Duration(len(r.waiting))*perSlot/32)
}
