//go:build unix

package bench

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/clock"
	"github.com/redlatch/redlatch/benchmarks/internal/load"
	"github.com/redlatch/redlatch/benchmarks/internal/peer"
	"github.com/redlatch/redlatch/benchmarks/internal/redisson"
	"github.com/redlatch/redlatch/benchmarks/internal/server"
	"github.com/redlatch/redlatch/benchmarks/internal/shared"
)

// section runs one workload: in each round all peers, one after the other, so that
// what slows the machine down for a while hits all alike. The order moves on by one
// each round.
func (r *runner) section(ctx context.Context, w Workload) (Section, error) {
	s := Section{Name: w.Name, Title: w.Title}
	peers := r.participants(w)
	var fleet *redisson.Fleet
	defer func() {
		if fleet != nil {
			fleet.Stop()
		}
	}()
	for round := range r.cfg.Rounds {
		for i := range peers {
			p := peers[(i+round)%len(peers)]
			r.step(fmt.Sprintf("%s: %s", w.Name, p.Name))
			if p.Open == nil && fleet == nil {
				var err error
				if fleet, err = r.startFleet(w); err != nil {
					return s, err
				}
			}
			cell, err := r.cell(ctx, w, p, fleet)
			if err != nil {
				return s, fmt.Errorf("%s: %s: %w", w.Name, p.Name, err)
			}
			cell.Workload, cell.Peer, cell.Round = w.Name, p.Name, round+1
			s.Cells = append(s.Cells, cell)
		}
	}
	for _, p := range peers {
		of := slices.DeleteFunc(slices.Clone(s.Cells), func(c Cell) bool { return c.Peer != p.Name })
		s.Rows = append(s.Rows, rowOf(p.Name, !p.Ours && !p.Special, of))
	}
	if w.Kind == load.Turns { // the pace of a ping-pong is set here, not by the peer
		compare(s.Rows)
	}
	s.Outcomes = judge(w.Goals, s.Rows)
	return s, nil
}

func (r *runner) startFleet(w Workload) (*redisson.Fleet, error) {
	fleet, err := redisson.Start(r.cfg.Jar, r.srv.Addr, w.Processes)
	if err != nil {
		return nil, err
	}
	if err := fleet.Warm(r.spec(w, peer.Redisson), r.cfg.WarmJVM); err != nil {
		fleet.Stop()
		return nil, err
	}
	return fleet, nil
}

// team is the processes of a cell, of whichever language.
type team interface {
	Begin(load.Window) error
	Results(load.Window) ([]load.Recording, error)
}

// cell measures one peer once.
func (r *runner) cell(ctx context.Context, w Workload, p peer.Peer, fleet *redisson.Fleet) (cell Cell, err error) {
	if err := r.srv.Clear(ctx); err != nil {
		return cell, err
	}
	spec := r.spec(w, p)
	if err := shared.Create(spec.Words, words(w)); err != nil {
		return cell, err
	}
	defer os.Remove(spec.Words)
	var processes team
	if p.Open == nil {
		processes = fleet.Team(spec)
	} else if group, err := load.Start(spec, w.Processes); err != nil {
		return cell, err
	} else {
		defer group.Stop()
		processes = group
	}
	hot, rested, err := r.pings(ctx, w)
	if err != nil {
		return cell, err
	}
	start := clock.Now().Add(r.cfg.Warm)
	win := load.Window{Start: start, End: start.Add(r.cfg.For)}
	if err := processes.Begin(win); err != nil {
		return cell, err
	}
	counts, err := r.count(ctx, win)
	if err != nil {
		return cell, err
	}
	recs, err := processes.Results(win)
	if n := violations(recs); n > 0 {
		return cell, fmt.Errorf("%w: %d times", ErrTwoHolders, n)
	}
	if err != nil {
		return cell, err
	}
	cell = sum(recs, win, counts)
	if w.Kind == load.PingPong {
		cell.setWaits(handoffs(recs, win))
		cell.Ping, cell.RestedPing = hot, rested
	}
	return cell, nil
}

// words is how many a workload needs: one for each lock, or those of a ping-pong.
func words(w Workload) int { return max(4, w.Processes*w.Goroutines) }

// pings are the median round trips of PING, on the server the cell will use, where
// the hand-off is to be compared with them. One after the other they find all awake;
// a hand-off finds both processes and the server at rest, and so does a PING after a
// pause as long as the hold.
func (r *runner) pings(ctx context.Context, w Workload) (hot, rested time.Duration, err error) {
	if w.Kind != load.PingPong {
		return 0, 0, nil
	}
	inTurn, err := r.srv.Ping(ctx, 2000, 0)
	if err != nil {
		return 0, 0, err
	}
	withPauses, err := r.srv.Ping(ctx, 50, w.Hold)
	if err != nil {
		return 0, 0, err
	}
	return median(inTurn), median(withPauses), nil
}

// count counts the commands within the window, give or take the moment that the
// server takes to answer.
func (r *runner) count(ctx context.Context, win load.Window) (server.Commands, error) {
	win.Start.Sleep()
	if err := r.srv.ResetCommands(ctx); err != nil {
		return nil, err
	}
	select {
	case <-time.After(win.End.Until()):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return r.srv.Commands(ctx)
}
