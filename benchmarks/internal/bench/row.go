package bench

import "time"

// Row is one peer in one workload: the median of the rounds, figure by figure, and
// the ratio to the fastest of the other libraries.
type Row struct {
	Peer      string
	Rival     bool // neither Redlatch nor a bare script
	PerSecond float64
	P50       time.Duration
	P99       time.Duration
	Max       time.Duration
	Scripts   float64
	Commands  float64
	Evenness  float64
	Least     int
	Most      int
	Pings     float64 // hand-off: p50 in round trips of PING, one after the other
	Rested    float64 // hand-off: p50 in round trips of PING after a pause
	ToFastest float64 // acquisitions/s as multiple of the fastest rival's; 0 without one
}

func rowOf(peer string, rival bool, cells []Cell) Row {
	return Row{
		Peer:      peer,
		Rival:     rival,
		PerSecond: over(cells, func(c Cell) float64 { return c.PerSecond }),
		P50:       over(cells, func(c Cell) time.Duration { return c.P50 }),
		P99:       over(cells, func(c Cell) time.Duration { return c.P99 }),
		Max:       over(cells, func(c Cell) time.Duration { return c.Max }),
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

// compare fills in the ratios of a workload's rows.
func compare(rows []Row) {
	best, ok := fastest(rows)
	if !ok || best.PerSecond == 0 {
		return
	}
	for i := range rows {
		rows[i].ToFastest = rows[i].PerSecond / best.PerSecond
	}
}
