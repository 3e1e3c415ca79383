package bench

import (
	"fmt"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/paired"
)

// Goal is a ratio that Redlatch is to reach in a workload.
type Goal struct {
	Of      string // the variant of Redlatch
	What    string
	AtLeast float64 // or, when 0,
	AtMost  float64
	value   func(Row, []Row) (o Outcome, ok bool) // Value, Than and Spread of the outcome
}

// Outcome is a goal with the figure that was reached.
type Outcome struct {
	Goal   string
	Value  float64
	Than   string       `json:",omitempty"` // the peer it is compared with
	Spread paired.Ratio // of slices, if Pairs is not 0
	Met    bool
	Missed bool // neither: it was not measured
}

// bestPeer stands for the fastest of the libraries on Redis that are not Redlatch.
const bestPeer = ""

// faster compares throughput.
func faster(of string, factor float64, than string) Goal {
	g := Goal{Of: of, What: "acquisitions/s as multiple of " + than + "'s", AtLeast: factor}
	if than == bestPeer {
		g.What = "acquisitions/s as multiple of the fastest peer's on Redis"
	}
	g.value = func(row Row, rows []Row) (o Outcome, _ bool) {
		other, ok := find(rows, than)
		if than == bestPeer {
			other, ok = fastest(rows)
		}
		o.Than = other.Peer
		o.Value, o.Spread = row.than(other)
		return o, ok && other.PerSecond > 0
	}
	return g
}

// sooner compares the 99th percentile of the wait with that of the fastest peer on Redis.
func sooner(of string, factor float64) Goal {
	return Goal{Of: of, What: "p99 of the wait as share of the fastest peer's on Redis", AtMost: factor,
		value: func(row Row, rows []Row) (Outcome, bool) {
			other, ok := fastest(rows)
			return Outcome{Value: float64(row.P99) / float64(other.P99), Than: other.Peer}, ok && other.P99 > 0
		}}
}

func scripts(of string, most float64) Goal {
	return Goal{Of: of, What: "EVALSHA per acquisition", AtMost: most,
		value: func(row Row, _ []Row) (Outcome, bool) { return Outcome{Value: row.Scripts}, row.PerSecond > 0 }}
}

// sameHandOff compares the median of the hand-off.
func sameHandOff(of string, most float64, than string) Goal {
	return Goal{Of: of, What: "p50 as multiple of " + than + "'s", AtMost: most,
		value: func(row Row, rows []Row) (Outcome, bool) {
			other, ok := find(rows, than)
			if !ok || other.P50 == 0 {
				return Outcome{}, false
			}
			return Outcome{Value: float64(row.P50) / float64(other.P50), Than: than}, true
		}}
}

// rate is a throughput that does not depend on another row's.
func rate(of string, least float64) Goal {
	return Goal{Of: of, What: "thousands of acquisitions/s", AtLeast: least / 1000,
		value: func(row Row, _ []Row) (Outcome, bool) {
			return Outcome{Value: row.PerSecond / 1000}, row.PerSecond > 0
		}}
}

// within limits the 99th percentile of the wait.
func within(of string, most time.Duration) Goal {
	return Goal{Of: of, What: "p99 of the wait in ms", AtMost: float64(most) / float64(time.Millisecond),
		value: func(row Row, _ []Row) (Outcome, bool) {
			return Outcome{Value: float64(row.P99) / float64(time.Millisecond)}, row.P99 > 0
		}}
}

// even compares the longest wait with the mean of all.
func even(of string, most float64) Goal {
	return Goal{Of: of, What: "longest wait as multiple of the mean", AtMost: most,
		value: func(row Row, _ []Row) (Outcome, bool) {
			return Outcome{Value: float64(row.Max) / float64(row.Mean)}, row.Mean > 0
		}}
}

func restedPings(of string, most float64) Goal {
	return Goal{Of: of, What: "p50 in round trips of PING after a pause", AtMost: most,
		value: func(row Row, _ []Row) (Outcome, bool) { return Outcome{Value: row.Rested}, row.Rested > 0 }}
}

// judge compares the goals of a workload with its rows.
func judge(goals []Goal, rows []Row) []Outcome {
	var outcomes []Outcome
	for _, g := range goals {
		limit, bound := "at least", g.AtLeast
		if g.AtLeast == 0 {
			limit, bound = "at most", g.AtMost
		}
		var o Outcome
		if row, measured := find(rows, g.Of); measured {
			var ok bool
			if o, ok = g.value(row, rows); ok {
				o.Met = g.AtLeast > 0 && o.Value >= g.AtLeast || g.AtLeast == 0 && o.Value <= g.AtMost
				o.Missed = !o.Met
			} else {
				o.Value = 0 // it may be infinite
			}
		}
		o.Goal = fmt.Sprintf("%s: %s, %s %.3g", g.Of, g.What, limit, bound)
		outcomes = append(outcomes, o)
	}
	return outcomes
}

func find(rows []Row, peer string) (Row, bool) {
	for _, row := range rows {
		if row.Peer == peer {
			return row, true
		}
	}
	return Row{}, false
}

// fastest is the peer with the most acquisitions, without Redlatch and the bare
// scripts.
func fastest(rows []Row) (best Row, ok bool) {
	for _, row := range rows {
		if row.Rival && (!ok || row.PerSecond > best.PerSecond) {
			best, ok = row, true
		}
	}
	return best, ok
}
