//go:build unix

package redisson

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/clock"
	"github.com/redlatch/redlatch/benchmarks/internal/load"
)

func TestOverlapsAreSeen(t *testing.T) {
	for _, test := range []struct {
		name  string
		turns []turn
		want  int
	}{
		{"in turn", []turn{{lock: "a", got: 5, left: 7}, {lock: "a", got: 7, left: 9}}, 0},
		{"no longer than the clock's tick", []turn{{lock: "a", got: 5, left: 7}, {lock: "a", got: 5, left: 5}}, 0},
		{"two locks", []turn{{lock: "a", got: 5, left: 7}, {lock: "b", got: 6, left: 8}}, 0},
		{"two holders", []turn{{lock: "a", got: 6, left: 8}, {lock: "a", got: 5, left: 7}}, 1},
	} {
		if got := overlaps(test.turns); got != test.want {
			t.Errorf("%s: %d overlaps, want %d", test.name, got, test.want)
		}
	}
}

// Readers overlap, and so they should.
func TestOverlapsOfReadersDoNotCount(t *testing.T) {
	both := []turn{{thread: 1, lock: "a", got: 5, left: 8}, {thread: 2, lock: "a", got: 6, left: 7}}
	for _, unchecked := range []bool{false, true} {
		spec := load.Spec{Goroutines: 2, Unchecked: unchecked}
		if found := record(spec, 1, both, load.Window{})[0].Violations > 0; found == unchecked {
			t.Errorf("unchecked %v: overlaps were counted: %v", unchecked, found)
		}
	}
}

func TestTurnsOfTheWindowCount(t *testing.T) {
	ms := func(n int) clock.Instant { return clock.Instant(time.Duration(n) * time.Millisecond) }
	win := load.Window{Start: ms(10), End: ms(20)}
	recs := record(load.Spec{Goroutines: 2}, 1, []turn{
		{thread: 1, asked: ms(1), got: ms(2), left: ms(3)},
		{thread: 1, asked: ms(3), got: ms(12), left: ms(13)},
		{thread: 2, asked: ms(4), got: ms(21), left: ms(22)},
	}, win)
	one, two := recs[0].Goroutines[0], recs[0].Goroutines[1]
	if one.Acquired != 1 || len(one.Waits) != 1 || one.Waits[0] != 9*time.Millisecond {
		t.Errorf("thread 1: %+v", one)
	}
	if two.Acquired != 0 || len(two.Waits) != 1 || two.Waits[0] != 16*time.Millisecond {
		t.Errorf("thread 2, cut off: %+v", two)
	}
}
