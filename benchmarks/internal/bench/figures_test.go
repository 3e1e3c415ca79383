package bench

import "testing"

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
