//go:build unix

package bench

import (
	"context"
	"fmt"

	"github.com/redlatch/redlatch/benchmarks/internal/peer"
	"github.com/redlatch/redlatch/benchmarks/internal/server"
)

// startOthers has the servers up that a workload needs beside Redis, and no others: one
// at rest takes a little of the machine, too.
func (r *runner) startOthers(ctx context.Context, w Workload) error {
	needed := make(map[server.Kind]bool)
	for _, p := range r.participants(w) {
		if !p.On.Redis() {
			needed[p.On] = true
		}
	}
	r.stopOthers(needed)
	for kind := range needed {
		if r.others[kind] != nil {
			continue
		}
		other, err := server.StartOther(ctx, kind)
		if err != nil {
			return fmt.Errorf("%s: %w", w.Name, err)
		}
		r.others[kind] = other
	}
	return nil
}

// stopOthers ends all servers beside Redis that are not needed.
func (r *runner) stopOthers(needed map[server.Kind]bool) {
	for kind, other := range r.others {
		if !needed[kind] {
			other.Stop()
			delete(r.others, kind)
		}
	}
}

// addr is where a peer's locks are.
func (r *runner) addr(p peer.Peer) string {
	if p.On.Redis() {
		return r.srv.Addr
	}
	return r.others[p.On].Addr
}
