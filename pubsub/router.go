package pubsub

import (
	"context"
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

// asCluster returns rdb if it is a client of a Redis Cluster, else nil. It goes by what rdb
// can do, not by its type: there may be something around the client.
func asCluster(rdb Subscriber) cluster {
	client, ok := rdb.(interface{ Options() *redis.ClusterOptions })
	if ok && client.Options().ClusterSlots != nil {
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
	slots   map[int]*slot        // those with channels, and those whose backoff is remembered
	waiting []*slot              // those whose node is to be found
	nodes   map[string]*nodeConn // by address
	limbo   *nodeConn            // has the channels of the waiting slots; it is never started
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
