package pubsub

import (
	"math/rand/v2"
	"time"
)

// shortLived is how many doublings of the backoff a connection leaves that was
// confirmed and then lost soon. Starting afresh each time would let a server
// that drops every subscriber (a full output buffer, a proxy) be dialed a
// hundred times a second; growing to MaxBackoff would leave waiters deaf for
// seconds although each connection works.
const shortLived = 3

// manager keeps the connection in line with the registry. Its fields belong to
// the goroutine in run.
type manager struct {
	hub   *Hub
	timer *time.Timer

	failures int       // consecutive ones, each doubles the ceiling of the delay
	retryAt  time.Time // no connection is opened before
	cause    error     // why the last confirmed connection ended; nil if there is nothing to report
}

// run serves one connection after another until the hub is closed or idle.
func (m *manager) run() {
	m.timer = time.NewTimer(0)
	defer m.timer.Stop()
	for {
		m.pause()
		if m.hub.retire() {
			return
		}
		m.serve()
	}
}

// pause waits until retryAt, or until nobody needs the connection any more.
func (m *manager) pause() {
	h := m.hub
	for {
		d := time.Until(m.retryAt)
		if d <= 0 || h.idle() {
			return
		}
		m.timer.Reset(d)
		select {
		case <-m.timer.C:
		case <-h.wake:
		case <-h.ctx.Done():
			return
		}
	}
}

// serve opens one connection and keeps it until it fails, or nobody needs it.
func (m *manager) serve() {
	h := m.hub
	w := h.next(time.Now(), true)
	if w.idle {
		return
	}
	c := newConn(h, w)
	err := m.keep(c)

	// First the registry, so that nothing counts as confirmed any more; then
	// the connection, which may take its time.
	h.mu.Lock()
	h.registry.reset()
	h.mu.Unlock()
	c.close()

	m.settle(c, err)
}

// keep does the work on a connection. It returns nil when nobody needs it.
func (m *manager) keep(c *conn) error {
	h := m.hub
	if err := c.open(); err != nil {
		return err
	}
	for {
		m.announce(c)
		w := h.next(time.Now(), c.upToDate())
		if w.idle {
			return nil
		}
		c.queue(w)
		if err := c.send(); err != nil {
			return err
		}
		next, err := c.keepalive()
		if err != nil {
			return err
		}
		if !w.sweep.IsZero() && w.sweep.Before(next) {
			next = w.sweep
		}
		m.timer.Reset(time.Until(next))
		select {
		case <-m.timer.C:
		case <-h.wake:
		case <-c.ended:
			return c.err
		case <-h.ctx.Done():
			return h.ctx.Err()
		}
	}
}

// announce notes that all channels carried over to a connection are confirmed,
// and reports it if another connection was lost before.
func (m *manager) announce(c *conn) {
	if c.confirmed || !c.upToDate() {
		return
	}
	c.confirmed = true
	if m.cause == nil {
		return
	}
	err := m.cause
	m.cause = nil
	if m.hub.cfg.OnReconnect != nil {
		m.hub.cfg.OnReconnect(err)
	}
}

// settle draws the conclusions from the end of a connection.
func (m *manager) settle(c *conn, err error) {
	m.announce(c)
	if c.confirmed {
		m.failures = min(m.failures, shortLived)
		if c.age() >= m.hub.cfg.MaxBackoff {
			m.failures = 0
		}
	}
	if err == nil {
		m.cause = nil
		return
	}
	if m.cause == nil {
		m.cause = err
	}
	m.retryAt = time.Now().Add(rand.N(m.ceiling()))
	m.failures++
}

// ceiling is the longest delay that may come next.
func (m *manager) ceiling() time.Duration {
	d := m.hub.cfg.MinBackoff
	for range m.failures {
		if d >= m.hub.cfg.MaxBackoff/2 {
			return m.hub.cfg.MaxBackoff
		}
		d *= 2
	}
	return d
}

// work is what the manager has to do next.
type work struct {
	subscribe, unsubscribe []string
	sweep                  time.Time // when a channel stops lingering; zero if none does
	idle                   bool      // nobody needs the connection; the rest is empty
}

// next takes the work out of the registry, the channels only if collect is set.
// When nobody needs the connection it resets the registry in the same step, so
// that a Listen which comes now does not find a channel confirmed on a
// connection that is about to be closed.
func (h *Hub) next(now time.Time, collect bool) (w work) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.sweep = h.registry.sweep(now)
	if h.registry.idle() {
		h.registry.reset()
		return work{idle: true}
	}
	if collect {
		w.subscribe, w.unsubscribe = h.registry.collect()
	}
	return w
}

func (h *Hub) idle() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.registry.idle()
}
