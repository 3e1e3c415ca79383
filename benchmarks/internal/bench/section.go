//go:build unix

package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/clock"
	"github.com/redlatch/redlatch/benchmarks/internal/load"
	"github.com/redlatch/redlatch/benchmarks/internal/paired"
	"github.com/redlatch/redlatch/benchmarks/internal/server"
)

// section runs one workload. The processes of all peers are up from its beginning to its
// end, and only one peer works at a time: in turns of long windows first, for the waits
// and what is told beside them, then in turns of slices, for the throughput.
func (r *runner) section(ctx context.Context, w Workload) (s Section, err error) {
	s = Section{Name: w.Name, Title: w.Title}
	if err := r.srv.Clear(ctx); err != nil {
		return s, err
	}
	var all []*contender
	defer func() {
		for _, c := range all {
			c.stop()
		}
	}()
	for _, p := range r.participants(w) {
		c, err := r.enter(w, p)
		if err != nil {
			return s, fmt.Errorf("%s: %s: %w", w.Name, p.Name, err)
		}
		all = append(all, c)
	}
	if err := r.windows(ctx, w, all, &s); err != nil {
		return s, err
	}
	r.step(w.Name + ": slices")
	if !w.Unsliced {
		if err := r.slices(ctx, w, all, &s); err != nil {
			return s, err
		}
	}
	r.rows(w, all, &s)
	return s, nil
}

// windows measures each peer once in each round. The order moves on by one each round.
func (r *runner) windows(ctx context.Context, w Workload, all []*contender, s *Section) error {
	for round := range r.rounds(w) {
		for i := range all {
			c := all[(i+round)%len(all)]
			r.step(fmt.Sprintf("%s: %s", w.Name, c.peer.Name))
			cell, err := r.cell(ctx, w, c)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", w.Name, c.peer.Name, err)
			}
			cell.Workload, cell.Peer, cell.Round = w.Name, c.peer.Name, round+1
			s.Cells = append(s.Cells, cell)
		}
	}
	return nil
}

// slices has each peer work for a moment, sweep by sweep; but not where others
// make it need more than a moment.
func (r *runner) slices(ctx context.Context, w Workload, all []*contender, s *Section) error {
	if w.Processes*w.Goroutines > 1 {
		all = slices.DeleteFunc(slices.Clone(all), func(c *contender) bool { return c.peer.LongWaits })
	}
	for _, c := range all {
		s.Paces = append(s.Paces, Pace{Peer: c.peer.Name})
	}
	for sweep := range r.sweeps(w) {
		for _, i := range paired.Order(len(all), sweep) {
			start := clock.Now().Add(r.cfg.Lead)
			win := load.Window{Start: start, End: start.Add(r.cfg.Slice), Brief: true}
			recs, err := all[i].work(win, func() error { return ctx.Err() })
			if err != nil {
				return fmt.Errorf("%s: %s: %w", w.Name, all[i].peer.Name, err)
			}
			pace := float64(load.Acquired(recs)) / win.Length().Seconds()
			s.Paces[i].PerSecond = append(s.Paces[i].PerSecond, pace)
		}
	}
	return nil
}

// rows sums up.
func (r *runner) rows(w Workload, all []*contender, s *Section) {
	for _, c := range all {
		of := slices.DeleteFunc(slices.Clone(s.Cells), func(cell Cell) bool { return cell.Peer != c.peer.Name })
		row := rowOf(c.peer.Name, !c.peer.Ours && !c.peer.Special, of)
		row.Elsewhere = !c.peer.On.Redis()
		row.pace(s.Paces)
		s.Rows = append(s.Rows, row)
	}
	if w.Kind == load.Turns { // the pace of a ping-pong is set here, not by the peer
		compare(s.Rows)
	}
	s.Outcomes = judge(w.Goals, s.Rows)
}

// cell measures one peer in one window.
func (r *runner) cell(ctx context.Context, w Workload, c *contender) (cell Cell, err error) {
	hot, rested, err := r.pings(ctx, w)
	if err != nil {
		return cell, err
	}
	start := clock.Now().Add(r.cfg.Warm)
	win := load.Window{Start: start, End: start.Add(r.cfg.For / time.Duration(max(1, w.Split)))}
	var counts server.Commands
	recs, err := c.work(win, func() (err error) {
		counts, err = r.count(ctx, win)
		return err
	})
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

// pings are the median round trips of PING, on the server the cell will use, where
// the hand-off is to be compared with them. One after the other they find all awake;
// a hand-off finds both processes and the server at rest, and so does a PING after a
// pause as long as the hold.
func (r *runner) pings(ctx context.Context, w Workload) (hot, rested time.Duration, err error) {
	if w.Kind != load.PingPong {
		return 0, 0, nil
	}
	inTurn, err := r.srv.Ping(ctx, 2000/max(1, w.Split), 0)
	if err != nil {
		return 0, 0, err
	}
	withPauses, err := r.srv.Ping(ctx, 50/max(1, w.Split), w.Hold)
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
