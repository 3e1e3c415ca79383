package faultproxy

import "sync"

type direction int

const (
	upstream   direction = iota // client to server
	downstream                  // server to client
	directions
)

// gates stop the bytes of a direction and a class without a sign to either side.
type gates struct {
	mu      sync.Mutex
	shut    [directions][PubSub + 1]bool // guarded by mu
	changed chan struct{}                // guarded by mu; closed and replaced at each change
}

// Blackhole stops the bytes of the given directions on the connections of a
// class, those to come too, without closing anything: what a half-open
// connection looks like. It sets both directions; the other classes keep what
// they have. A frame that was on its way when it was called may still arrive.
//
// Connecting still works: the proxy's own listener answers.
func (p *Proxy) Blackhole(up, down bool, class Class) {
	p.gates.set(func(shut *[directions][PubSub + 1]bool) {
		shut[upstream][class] = up
		shut[downstream][class] = down
	})
}

// Forget stops the bytes of the connections of a class that are open now, in both
// directions and for good: Heal does not help them. Connections to come are none of them. So
// does a firewall or NAT that has lost its table.
func (p *Proxy) Forget(class Class) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.sessions {
		if class == Any || class == s.class() {
			s.forgotten.Store(true)
		}
	}
}

// Heal ends every Blackhole. What was stopped moves on.
func (p *Proxy) Heal() {
	p.gates.set(func(shut *[directions][PubSub + 1]bool) {
		*shut = [directions][PubSub + 1]bool{}
	})
}

func (g *gates) set(change func(shut *[directions][PubSub + 1]bool)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change(&g.shut)
	close(g.changed)
	g.changed = make(chan struct{})
}

// wait returns when s may pass on bytes in direction d, or false if s was closed
// before.
func (g *gates) wait(d direction, s *session) bool {
	for {
		g.mu.Lock()
		shut := g.shut[d][Any] || g.shut[d][s.class()] || s.forgotten.Load()
		changed := g.changed
		g.mu.Unlock()
		if !shut {
			return true
		}
		select {
		case <-changed:
		case <-s.done:
			return false
		}
	}
}
