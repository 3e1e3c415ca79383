//go:build unix

package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/redlatch/redlatch/benchmarks/internal/load"
	"github.com/redlatch/redlatch/benchmarks/internal/peer"
	"github.com/redlatch/redlatch/benchmarks/internal/redisson"
	"github.com/redlatch/redlatch/benchmarks/internal/server"
)

// runner is one run.
type runner struct {
	cfg    Config
	srv    *server.Server
	dir    string
	peers  []peer.Peer
	others map[server.Kind]*server.Other // those that are up
	cells  int                           // names for locks
	done   int                           // steps
	total  int
}

// Run runs everything that cfg asks for, against one server. It ends with the first
// error: figures of a lock that two hold at once are worth nothing.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	srv, err := server.Start(ctx)
	if err != nil {
		return nil, err
	}
	defer srv.Stop()
	dir, err := os.MkdirTemp("", "redlatch-benchmarks-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	version, err := srv.Version(ctx)
	if err != nil {
		return nil, err
	}
	r := &runner{cfg: cfg, srv: srv, dir: dir, others: make(map[server.Kind]*server.Other)}
	defer r.stopOthers(nil)
	res := &Result{Machine: machine(version), Settings: cfg}
	if err := r.choose(res); err != nil {
		return nil, err
	}
	workloads := r.workloads()
	for _, w := range workloads {
		r.total += r.steps(w)
	}
	for _, w := range workloads {
		if err := r.startOthers(ctx, w); err != nil {
			return nil, err
		}
		if w.measure != nil {
			var s Scaling
			s, err = r.scale(ctx, w)
			res.Scale = append(res.Scale, s)
		} else {
			var s Section
			s, err = r.section(ctx, w)
			res.Workloads = append(res.Workloads, s)
		}
		if err != nil {
			return nil, err
		}
	}
	r.step("done")
	return res, nil
}

// choose finds the peers that are asked for and can run.
func (r *runner) choose(res *Result) error {
	for _, name := range r.cfg.Peers {
		if _, ok := peer.Find(name); !ok {
			return fmt.Errorf("there is no peer %q", name)
		}
	}
	for _, p := range peer.All() {
		if r.cfg.Peers != nil && !slices.Contains(r.cfg.Peers, p.Name) {
			continue
		}
		if p.Open == nil {
			if err := redisson.Available(r.cfg.Jar); err != nil {
				res.LeftOut = append(res.LeftOut, fmt.Sprintf("%s: %v", p.Name, err))
				continue
			}
		}
		if !p.On.Redis() {
			if err := p.On.Available(); err != nil {
				res.LeftOut = append(res.LeftOut, fmt.Sprintf("%s: %v", p.Name, err))
				continue
			}
			res.Machine.note(p.On)
		}
		r.peers = append(r.peers, p)
		res.Peers = append(res.Peers, PeerNote{Name: p.Name, Settings: p.Settings})
	}
	return nil
}

func (r *runner) workloads() (chosen []Workload) {
	for _, w := range Workloads() {
		if (r.cfg.Only == nil || r.cfg.Only.MatchString(w.Name)) && len(r.participants(w)) > 0 {
			chosen = append(chosen, w)
		}
	}
	return chosen
}

// participants are the peers that run a workload.
func (r *runner) participants(w Workload) (peers []peer.Peer) {
	for _, p := range r.peers {
		switch {
		case w.measure != nil && p.Name != "redlatch":
		case w.Alone != nil && !slices.Contains(w.Alone, p.Name):
		case w.Alone == nil && p.Special && !slices.Contains(w.Also, p.Name):
		case w.Traffic > 0 && !p.Ours:
		case w.OwnClients && p.Open == nil: // 64 JVMs do not fit
		default:
			peers = append(peers, p)
		}
	}
	return peers
}

// steps is how many windows a workload has, and one for all of its slices.
func (r *runner) steps(w Workload) int {
	n := len(r.participants(w)) * r.rounds(w)
	if w.measure != nil {
		return n * len(sizes(w, r.cfg))
	}
	return n + 1
}

// rounds is how many windows each peer has.
func (r *runner) rounds(w Workload) int {
	if w.Once || w.Thirds {
		return 1
	}
	return r.cfg.Rounds * max(1, w.Split)
}

// sweeps is how many slices each peer has.
func (r *runner) sweeps(w Workload) int {
	if w.Thirds {
		return max(1, r.cfg.Sweeps/3)
	}
	return r.cfg.Sweeps
}

func (r *runner) step(what string) {
	if r.cfg.Progress != nil {
		r.cfg.Progress(r.done, r.total, what)
	}
	r.done++
}

// spec is what the processes of a workload are told, with names that no cell before
// has used.
func (r *runner) spec(w Workload, p peer.Peer) load.Spec {
	r.cells++
	return load.Spec{
		Kind: w.Kind, Peer: p.Name, Addr: r.addr(p), Unchecked: p.Unsafe,
		Name:       fmt.Sprintf("benchmark:%s:%d", w.Name, r.cells),
		Goroutines: w.Goroutines, OwnLocks: w.OwnLocks, OwnClients: w.OwnClients, Hold: w.Hold, Traffic: w.Traffic,
		WriterOf: w.WriterOf,
		Words:    filepath.Join(r.dir, fmt.Sprint(r.cells)),
	}
}
