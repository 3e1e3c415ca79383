package multilock

import (
	"context"
	"strings"
	"time"

	"github.com/redlatch/redlatch/watchdog"
)

// serverCheck is a server's word that it has been running for so long that no lock can be
// trusted any more which it may have forgotten. The zero proof is that of nothing.
//
// It has to come after the grant that it is for. A server that answers the question
// after it has granted the lock, and says that it was started more than the longest
// lease ago, was the same server at the grant; asked before, it could have been
// restarted between the two.
type serverCheck struct {
	runs    string    // run ids of the servers
	asked   time.Time // before the question was sent
	forever bool      // there is no server whose restart would matter
}

// uptimeError is by how much an uptime may be too long: Redis takes the difference of
// two instants that are cut to whole seconds.
const uptimeError = time.Second

// checkServer asks the member's servers who they are, within the members' limit, at which ctx
// ends. The error is [ErrQuarantined] if they are too young, or others than before and so
// of unknown history.
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
	ready := now // by what the servers say of themselves
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
		// Another server altogether may be as old as it likes.
		m.replaced = true
		ready = now.Add(l.cfg.quarantine())
	case m.replaced:
		ready = m.ready // its age tells no more now than when it was first seen
	default:
		// Every answer gives an instant at which it was running already, and the
		// first that it was asked is one too: the earliest counts.
		ready = earliest(ready, m.ready)
	}
	m.runs, m.ready = p.runs, ready
	if now.Before(m.ready) {
		return p, &QuarantineError{Name: m.Name(), Server: m.server, Left: m.ready.Sub(now)}
	}
	return p, nil
}

// quarantined returns the error of a member that is known not to be counted yet.
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

// until is how long the server may be taken for the one that granted the lock. If it
// was restarted right after it was asked, others count it again one quarantine later.
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
