package bench

import (
	"slices"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/paired"
)

// Row is one peer in one workload: the median of the rounds, figure by figure, but P50,
// P99 and Max are those of the waits of all rounds together. Where there are slices,
// PerSecond is their median, and ToFastest that of the ratios to the slices of the same
// sweeps of the fastest of the other libraries on Redis.
type Row struct {
	Peer      string
	Rival     bool // a library on Redis that is not Redlatch, nor a bare script
	Elsewhere bool `json:",omitempty"` // on another server, of which Scripts and Commands say nothing
	PerSecond float64
	P50       time.Duration
	P99       time.Duration
	Max       time.Duration
	Mean      time.Duration `json:",omitempty"` // of the same waits
	Scripts   float64
	Commands  float64
	Evenness  float64
	Least     int
	Most      int
	Pings     float64 // hand-off: p50 in round trips of PING, one after the other
	Rested    float64 // hand-off: p50 in round trips of PING after a pause
	ToFastest float64 // acquisitions/s as multiple of the fastest rival's; 0 without one
	Spread    paired.Ratio
	paces     []float64
}

func rowOf(peer string, rival bool, cells []Cell) Row {
	var waits []time.Duration
	for _, c := range cells {
		waits = append(waits, c.waits...)
	}
	slices.Sort(waits)
	return Row{
		Peer:      peer,
		Rival:     rival,
		PerSecond: over(cells, func(c Cell) float64 { return c.PerSecond }),
		P50:       percentile(waits, 0.5),
		P99:       percentile(waits, 0.99),
		Max:       percentile(waits, 1),
		Mean:      mean(waits),
		Scripts:   over(cells, func(c Cell) float64 { return c.Scripts }),
		Commands:  over(cells, func(c Cell) float64 { return c.Commands }),
		Evenness:  over(cells, func(c Cell) float64 { return c.Evenness }),
		Least:     over(cells, func(c Cell) int { return c.Least }),
		Most:      over(cells, func(c Cell) int { return c.Most }),
		Pings:     over(cells, func(c Cell) float64 { return times(c.P50, c.Ping) }),
		Rested:    over(cells, func(c Cell) float64 { return times(c.P50, c.RestedPing) }),
	}
}

func over[T int | float64 | time.Duration](cells []Cell, figure func(Cell) T) T {
	values := make([]T, len(cells))
	for i, c := range cells {
		values[i] = figure(c)
	}
	return median(values)
}

// times is how many of the one fit into the other, 0 when there is none.
func times(d, of time.Duration) float64 {
	if of == 0 {
		return 0
	}
	return float64(d) / float64(of)
}

// pace has the slices count for the throughput of a row, if there are any.
func (r *Row) pace(paces []Pace) {
	i := slices.IndexFunc(paces, func(p Pace) bool { return p.Peer == r.Peer })
	if i < 0 || len(paces[i].PerSecond) == 0 {
		return
	}
	r.paces = paces[i].PerSecond
	r.PerSecond = median(r.paces)
}

// than is a row's throughput as multiple of another's: of the slices, if there are any,
// or else of the windows, which are too few for a spread.
func (r Row) than(other Row) (float64, paired.Ratio) {
	if ratio := paired.Of(r.paces, other.paces); ratio.Pairs > 0 {
		return ratio.Median, ratio
	}
	return r.PerSecond / other.PerSecond, paired.Ratio{}
}

// compare fills in the ratios of a workload's rows.
func compare(rows []Row) {
	best, ok := fastest(rows)
	if !ok || best.PerSecond == 0 {
		return
	}
	for i := range rows {
		rows[i].ToFastest, rows[i].Spread = rows[i].than(best)
	}
}
