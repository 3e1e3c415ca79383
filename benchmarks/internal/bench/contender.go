//go:build unix

package bench

import (
	"cmp"
	"os"

	"github.com/redlatch/redlatch/benchmarks/internal/load"
	"github.com/redlatch/redlatch/benchmarks/internal/peer"
	"github.com/redlatch/redlatch/benchmarks/internal/redisson"
	"github.com/redlatch/redlatch/benchmarks/internal/shared"
)

// team is the processes of a contender, of whichever language.
type team interface {
	Begin(load.Window) error
	Results(load.Window) ([]load.Recording, error)
	Stop()
}

// contender is a peer in a workload, with its processes up and at rest.
type contender struct {
	peer  peer.Peer
	spec  load.Spec
	procs team
}

// enter starts the processes of a peer.
func (r *runner) enter(w Workload, p peer.Peer) (_ *contender, err error) {
	c := &contender{peer: p, spec: r.spec(w, p)}
	if err := shared.Create(c.spec.Words, max(4, w.Processes*w.Goroutines)); err != nil {
		return nil, err
	}
	if p.Open != nil {
		c.procs, err = load.Start(c.spec, w.Processes)
	} else {
		c.procs, err = r.startJVMs(w, c.spec)
	}
	if err != nil {
		os.Remove(c.spec.Words)
		return nil, err
	}
	return c, nil
}

func (r *runner) startJVMs(w Workload, spec load.Spec) (team, error) {
	fleet, err := redisson.Start(r.cfg.Jar, r.srv.Addr, w.Processes)
	if err != nil {
		return nil, err
	}
	if err := fleet.Warm(spec, r.cfg.WarmJVM); err != nil {
		fleet.Stop()
		return nil, err
	}
	return fleet.Team(spec), nil
}

// work has the contender work until the window ends. Meanwhile the caller can do
// something else. Two holders are an error, before all others.
func (c *contender) work(win load.Window, meanwhile func() error) ([]load.Recording, error) {
	if err := c.procs.Begin(win); err != nil {
		return nil, err
	}
	if err := meanwhile(); err != nil {
		return nil, err
	}
	recs, err := c.procs.Results(win)
	return recs, cmp.Or(load.Excluded(recs), err)
}

func (c *contender) stop() {
	c.procs.Stop()
	os.Remove(c.spec.Words)
}
