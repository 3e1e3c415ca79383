//go:build unix

package bench

import (
	"slices"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/load"
	"github.com/redlatch/redlatch/benchmarks/internal/server"
)

// Cell is one window: one workload with one peer in one round. Times are in nanoseconds in JSON.
type Cell struct {
	Workload     string
	Peer         string
	Round        int
	Seconds      float64
	Acquisitions int
	PerSecond    float64
	P50          time.Duration // of the wait for the lock; hand-off: of the way to the other process
	P99          time.Duration
	Max          time.Duration
	Scripts      float64            // EVALSHA and the like per acquisition
	Commands     float64            // per acquisition, those within scripts included
	ByCommand    map[string]float64 // per acquisition
	Evenness     float64            // Jain's index of the goroutines' acquisitions: 1 is even, 1/n is one for all
	Least, Most  int                // acquisitions of the goroutines served least and most
	Ping         time.Duration      // hand-off: p50 of a round trip just before, one after the other
	RestedPing   time.Duration      // hand-off: the same, after pauses

	waits []time.Duration // sorted
}

// sum makes a cell of the recordings of its processes.
func sum(recs []load.Recording, win load.Window, counts server.Commands) Cell {
	c := Cell{Seconds: win.Length().Seconds(), Acquisitions: load.Acquired(recs), ByCommand: make(map[string]float64)}
	var waits []time.Duration
	var shares []int
	for _, rec := range recs {
		for _, g := range rec.Goroutines {
			shares = append(shares, g.Acquired)
			waits = append(waits, g.Waits...)
		}
	}
	c.PerSecond = float64(c.Acquisitions) / c.Seconds
	c.setWaits(waits)
	c.Evenness, c.Least, c.Most = jain(shares), slices.Min(shares), slices.Max(shares)
	if c.Acquisitions > 0 {
		n := float64(c.Acquisitions)
		c.Scripts, c.Commands = float64(counts.Scripts())/n, float64(counts.Total())/n
		for name, calls := range counts {
			c.ByCommand[name] = float64(calls) / n
		}
	}
	return c
}

func (c *Cell) setWaits(waits []time.Duration) {
	slices.Sort(waits)
	c.waits = waits
	c.P50, c.P99, c.Max = percentile(waits, 0.5), percentile(waits, 0.99), percentile(waits, 1)
}

// handoffs are the times from a release to the next grant, where another process
// got it and the release was within the window.
func handoffs(recs []load.Recording, win load.Window) (times []time.Duration) {
	var all []load.Handoff
	for _, rec := range recs {
		all = append(all, rec.Handoffs...)
	}
	slices.SortFunc(all, func(a, b load.Handoff) int { return int(a.Got - b.Got) })
	for i := 1; i < len(all); i++ {
		from, to := all[i-1], all[i]
		if from.Process != to.Process && from.Left >= win.Start && to.Got < win.End {
			times = append(times, to.Got.Sub(from.Left))
		}
	}
	return times
}
