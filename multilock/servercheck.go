package multilock

import (
	"context"
	"strings"
	"time"

	"github.com/redlatch/redlatch/watchdog"
)

// serverCheck is a server's answer that proves a grant: the server has been running for so long that
// no lock which it may have forgotten is trusted any more. The zero value proves nothing.
//
// The check has to come after the grant that it proves. A server that has granted the lock, then
// answers, and was started more than the longest lease ago, was the same server at the grant. If it
// were asked before, it could be restarted between the answer and the grant.
type serverCheck struct {
	runs    string    // run ids of the servers
	asked   time.Time // before the question was sent
	forever bool      // there is no server whose restart would matter
}

// uptimeError is by how much an uptime may be too long: Redis subtracts two instants that are cut to
// whole seconds.
const uptimeError = time.Second

// checkServer asks the member's servers who they are, within the members' limit, at which ctx ends.
// The error is [ErrQuarantined] if a server is too young, or is another one than before: then nothing
// is known of what it has forgotten.
func (l *MultiLock) checkServer(ctx context.Context, m *member) (serverCheck, error) {
	if !l.cfg.prove {
		return serverCheck{forever: true}, nil
	}
	asked := time.Now()
	servers, err := m.Servers(ctx)
	if err != nil {
		return serverCheck{}, l.explain(ctx, err)
	}
	if len(servers) == 0 {
		return serverCheck{forever: true}, nil
	}
	now := time.Now()
	ready := now // the end of the quarantine, by the servers' uptimes
	var runs []string
	for _, s := range servers {
		runs = append(runs, s.RunID)
		started := now.Add(-max(0, s.Uptime-uptimeError))
		ready = latest(ready, started.Add(l.cfg.quarantine()))
	}
	p := serverCheck{runs: strings.Join(runs, " "), asked: asked}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.runs == "":
	case m.runs != p.runs:
		// The uptime of another server says nothing about this lock.
		m.replaced = true
		ready = now.Add(l.cfg.quarantine())
	case m.replaced:
		ready = m.ready // its uptime tells no more now than when it was first seen
	default:
		// Every answer gives an instant at which the server was running already. The first time that
		// it was asked is one too. The earliest instant counts.
		ready = earliest(ready, m.ready)
	}
	m.runs, m.ready = p.runs, ready
	if now.Before(m.ready) {
		return p, &QuarantineError{Name: m.Name(), Server: m.server, Left: m.ready.Sub(now)}
	}
	return p, nil
}

// quarantined returns an error if the member is known to be in quarantine.
func (l *MultiLock) quarantined(m *member) error {
	if !l.cfg.prove {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if left := time.Until(m.ready); left > 0 {
		return &QuarantineError{Name: m.Name(), Server: m.server, Left: left}
	}
	return nil
}

// until is how long the server may be taken for the one that granted the lock. It may have been
// restarted right after it was asked; then others count it again one quarantine later.
func (p serverCheck) until(longest time.Duration) time.Time {
	if p.forever {
		return time.Time{}
	}
	return watchdog.Validity(p.asked, longest)
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
