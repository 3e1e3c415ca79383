package pubsub

import "time"

// nodeConn is one connection and the registry of the channels that are heard on it. A hub has one. In
// a cluster it has one for each node, and a plain one for nodes without sharded pub/sub.
type nodeConn struct {
	hub  *Hub
	node string // the address of its node; empty if any node will do

	// wake tells the connection loop that there may be something to do. One slot suffices: the loop
	// looks at everything each time.
	wake chan struct{}

	// loop belongs to the goroutine that runs it. One run passes it to the next under Hub.mu, with
	// running. So the delay between attempts to connect is kept also when each attempt has a listener
	// of its own.
	loop connLoop

	// All guarded by Hub.mu.
	source     Subscriber // opens the connection; for a node it is a *redis.Client
	registry   registry
	running    bool
	stopped    chan struct{} // of the latest run, closed when it ends; nil before the first
	up         bool          // whether there is a connection
	carried    error         // why the slots that moved here were lost before; nil if none did
	plainUntil time.Time     // the node is taken for one without sharded pub/sub until then
}

func newNodeConn(h *Hub, node string, source Subscriber) *nodeConn {
	l := &nodeConn{hub: h, node: node, source: source, wake: make(chan struct{}, 1)}
	l.registry = registry{line: l, channels: make(map[string]*channel), linger: h.cfg.Linger}
	l.loop.line = l
	return l
}

// sharded reports whether the connection subscribes with SSUBSCRIBE.
func (l *nodeConn) sharded() bool { return l.node != "" }

// startLocked starts the connection loop unless it runs.
func (l *nodeConn) startLocked() {
	if l.running {
		return
	}
	l.running = true
	l.stopped = make(chan struct{})
	go l.loop.run()
}

// retire ends the run of the connection loop if it has nothing left to do. The decision and the end
// of running are one step under mu. Otherwise a Listen in between would find running set, and count
// on a loop that is about to end.
func (l *nodeConn) retire() bool {
	h := l.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed && !l.registry.idle() {
		return false
	}
	for _, ch := range l.registry.channels { // after Close there may be some
		l.registry.forget(ch)
	}
	l.registry.reset()
	l.carried = nil
	l.running = false
	close(l.stopped)
	if h.router != nil {
		h.router.notify()
	}
	return true
}

// notify wakes the connection loop.
func (l *nodeConn) notify() { notify(l.wake) }

func notify(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// work is what the connection loop has to do next.
type work struct {
	subscribe, unsubscribe []string
	sweep                  time.Time // when a channel stops lingering; zero if none does
	idle                   bool      // no channel needs the connection; the rest is empty
}

// next takes the work out of the registry, the channels only if collect is set. When no channel needs
// the connection, it resets the registry in the same step. Otherwise a Listen that comes now could
// find a channel confirmed on a connection that is about to be closed.
func (l *nodeConn) next(now time.Time, collect bool) (w work) {
	h := l.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	w.sweep = l.registry.sweep(now)
	if l.registry.idle() {
		l.registry.reset()
		l.up = false
		return work{idle: true}
	}
	if collect {
		w.subscribe, w.unsubscribe = l.registry.collect()
	}
	return w
}

// takeCarried returns why slots that moved here were lost, once.
func (l *nodeConn) takeCarried() (err error) {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	err, l.carried = l.carried, nil
	return err
}

func (l *nodeConn) idle() bool {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	return l.registry.idle()
}
