package pubsub

import (
	"cmp"
	"errors"
	"time"
)

// connLoop is the connection loop: it keeps a connection that carries what the registry wants. Its
// fields belong to the goroutine in run.
type connLoop struct {
	line  *nodeConn
	timer *time.Timer

	backoff           // between attempts to connect
	cause   error     // why the last confirmed connection ended; nil if there is nothing to report
	probed  time.Time // when the node last confirmed that it has sharded pub/sub
}

// run serves one connection after another until the hub is closed or idle.
func (m *connLoop) run() {
	m.timer = time.NewTimer(0)
	defer m.timer.Stop()
	for {
		m.pause()
		if m.line.retire() {
			return
		}
		m.serve()
	}
}

// pause waits until retryAt, or until no channel needs the connection any more.
func (m *connLoop) pause() {
	l := m.line
	for {
		d := time.Until(m.retryAt)
		if d <= 0 || l.idle() {
			return
		}
		m.timer.Reset(d)
		select {
		case <-m.timer.C:
		case <-l.wake:
		case <-l.hub.ctx.Done():
			return
		}
	}
}

// serve opens one connection and keeps it until it fails, or no channel needs it.
func (m *connLoop) serve() {
	l := m.line
	if l.sharded() && time.Since(m.probed) > verdict {
		switch err := l.probe(); {
		case errors.Is(err, errUnsharded):
			l.hub.router.fallBack(l)
			return
		case err != nil:
			m.failed(err)
			return
		}
		m.probed = time.Now()
	}
	w := l.next(time.Now(), true)
	if w.idle {
		return
	}
	c := newConn(l, w)
	err := m.keep(c)

	// First the registry, so that no channel counts as confirmed any more; then the connection, which
	// may take its time.
	l.hub.mu.Lock()
	l.registry.reset()
	l.up = false
	l.hub.mu.Unlock()
	c.close()

	m.settle(c, err)
	if errors.Is(err, errUnsharded) {
		m.probed = time.Time{}
		l.hub.router.fallBack(l)
	}
}

// keep does the work on a connection. It returns nil when no channel needs it.
func (m *connLoop) keep(c *conn) error {
	l := m.line
	if err := c.open(); err != nil {
		return err
	}
	l.hub.mu.Lock()
	l.up = true
	l.hub.mu.Unlock()
	for {
		m.announce(c)
		w := l.next(time.Now(), c.upToDate())
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
		case <-l.wake:
		case <-c.ended:
			return c.err
		case <-l.hub.ctx.Done():
			return l.hub.ctx.Err()
		}
	}
}

// announce notes that all channels taken over to a connection are confirmed. It reports that if
// another connection, or a slot, was lost before.
func (m *connLoop) announce(c *conn) {
	if !c.upToDate() {
		return
	}
	c.confirmed = true
	err := cmp.Or(m.cause, m.line.takeCarried())
	m.cause = nil
	if on := m.line.hub.cfg.OnReconnect; on != nil && err != nil {
		on(err)
	}
}

// settle acts on the end of a connection: it reports what was confirmed, and sets the backoff.
func (m *connLoop) settle(c *conn, err error) {
	m.announce(c)
	if c.confirmed {
		m.worked(c.age(), &m.line.hub.cfg)
	}
	if err == nil {
		m.cause = nil
		return
	}
	m.failed(err)
}

// failed notes the end of a connection, or that none could be opened.
func (m *connLoop) failed(err error) {
	m.cause = cmp.Or(m.cause, err)
	m.backoff.failed(time.Now(), m.ceiling(&m.line.hub.cfg))
	if m.line.sharded() {
		m.line.hub.router.trouble()
	}
}
