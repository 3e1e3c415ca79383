package bench

import (
	"testing"
	"time"
)

func TestPercentile(t *testing.T) {
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = i + 1
	}
	for share, want := range map[float64]int{0: 1, 0.5: 50, 0.99: 99, 1: 100} {
		if got := percentile(hundred, share); got != want {
			t.Errorf("percentile %v = %d, want %d", share, got, want)
		}
	}
	if got := percentile[int](nil, 0.5); got != 0 {
		t.Errorf("of nothing: %d", got)
	}
}

func TestJain(t *testing.T) {
	if got := jain([]int{3, 3, 3}); got != 1 {
		t.Errorf("even: %v", got)
	}
	if got := jain([]int{4, 0, 0, 0}); got != 0.25 {
		t.Errorf("one has all: %v", got)
	}
}

func TestGoals(t *testing.T) {
	rows := []Row{
		{Peer: "redlatch", PerSecond: 200, P99: 10},
		{Peer: "slow", Rival: true, PerSecond: 50, P99: 5},
		{Peer: "fast", Rival: true, PerSecond: 100, P99: 40},
	}
	got := judge([]Goal{faster("redlatch", 2, bestPeer), sooner("redlatch", 0.2), faster("absent", 1, bestPeer)}, rows)
	if o := got[0]; o.Value != 2 || o.Than != "fast" || !o.Met {
		t.Errorf("%+v", o)
	}
	if o := got[1]; o.Value != 0.25 || o.Met || !o.Missed {
		t.Errorf("%+v", o)
	}
	if o := got[2]; o.Met || o.Missed {
		t.Errorf("%+v", o)
	}
}

func TestGoalsOfARowAlone(t *testing.T) {
	row := Row{
		Peer: "redlatch", PerSecond: 250_000, Scripts: 0.04,
		P99: 20 * time.Millisecond, Max: 36 * time.Millisecond, Mean: 30 * time.Millisecond,
	}
	goals := []Goal{rate("redlatch", 300_000), within("redlatch", 20*time.Millisecond), even("redlatch", 1.1), scripts("redlatch", 0.05)}
	for i, want := range []struct {
		value float64
		met   bool
	}{{250, false}, {20, true}, {1.2, false}, {0.04, true}} {
		if o := judge(goals, []Row{row})[i]; o.Value != want.value || o.Met != want.met || o.Missed == want.met {
			t.Errorf("%+v, want %v, met: %v", o, want.value, want.met)
		}
	}
	for _, o := range judge(goals[:3], []Row{{Peer: "redlatch"}}) {
		if o.Met || o.Missed {
			t.Errorf("%+v, want neither: nothing was measured", o)
		}
	}
}

func TestMean(t *testing.T) {
	if got := mean([]time.Duration{1, 2, 6}); got != 3 {
		t.Errorf("got %v, want 3ns", got)
	}
	if got := mean(nil); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

// The figures of the slices are far from those of the windows, where they must not come from.
func TestSlicesCountForThroughput(t *testing.T) {
	section := func(peer string, rival bool, paces ...float64) Row {
		row := rowOf(peer, rival, []Cell{{PerSecond: 5, waits: []time.Duration{1, 2}}, {PerSecond: 5, waits: []time.Duration{9}}})
		row.pace([]Pace{{Peer: "other"}, {Peer: peer, PerSecond: paces}})
		return row
	}
	rows := []Row{
		section("redlatch", false, 200, 20, 200, 200, 2000, 200),
		section("peer", true, 100, 10, 100, 100, 1000, 100),
	}
	compare(rows)
	if r := rows[0]; r.PerSecond != 200 || r.ToFastest != 2 || r.Spread.Lo != 2 || r.Spread.Hi != 2 || r.Spread.Pairs != 6 {
		t.Errorf("%+v, want twice as fast in each sweep", r)
	}
	if r := rows[0]; r.P50 != 2 || r.Max != 9 {
		t.Errorf("p50 %v and max %v, want those of the waits of all rounds: 2ns, 9ns", r.P50, r.Max)
	}
	if o := judge([]Goal{faster("redlatch", 1.9, bestPeer)}, rows)[0]; !o.Met || o.Value != 2 || o.Spread.Pairs != 6 {
		t.Errorf("%+v", o)
	}
	without := []Row{rowOf("redlatch", false, []Cell{{PerSecond: 30}}), rowOf("peer", true, []Cell{{PerSecond: 10}})}
	if compare(without); without[0].ToFastest != 3 || without[0].Spread.Known() {
		t.Errorf("without slices: %+v, want the ratio of the windows and no interval", without[0])
	}
}
