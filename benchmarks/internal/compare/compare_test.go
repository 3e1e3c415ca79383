//go:build unix

package compare

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/load"
	"github.com/redlatch/redlatch/benchmarks/internal/paired"
)

func TestAllOfTheIntervalCounts(t *testing.T) {
	for _, test := range []struct {
		name   string
		lo, hi float64
		pairs  int
		want   Verdict
	}{
		{"the same", 0.99, 1.01, 100, NotSlower},
		{"faster", 1.2, 1.3, 100, NotSlower},
		{"slower, by less than 3 %", 0.975, 0.985, 100, NotSlower},
		{"slower", 0.92, 0.96, 100, Slower},
		{"perhaps slower", 0.95, 0.98, 100, Undecided},
		{"too few pairs", 0.5, 0.6, 5, Undecided},
		{"none", 0, 0, 0, Undecided},
	} {
		if got := Judge(paired.Ratio{Lo: test.lo, Hi: test.hi, Pairs: test.pairs}); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// noted is a row with pairs of noisy slices of a machine that slows down meanwhile.
func noted(headToBase float64) *row {
	random := rand.New(rand.NewPCG(5, 6))
	one := &row{Name: "work", figures: []*figure{pace(), allocations()}}
	win := load.Window{End: 50e6}
	for i := range 150 {
		for version := range 2 {
			n := 20_000 * (1 - float64(i)/300) * (1 + 0.05*random.NormFloat64())
			if version == 1 {
				n *= headToBase
			}
			recs := []load.Recording{{Goroutines: []load.Served{{Acquired: int(n)}}, Objects: 20 * uint64(n)}}
			one.note(version, recs, win)
		}
	}
	return one
}

func TestSlowerIsToldFromNoise(t *testing.T) {
	for headToBase, want := range map[float64]Verdict{1: NotSlower, 0.93: Slower, 1.1: NotSlower} {
		one := noted(headToBase)
		res := &Result{Base: "a", Head: "b", rows: []*row{one}}
		if got := one.figures[0].verdict(); got != want || res.Slower() != (want == Slower) {
			t.Errorf("%v times as fast: %s, want %s: %+v", headToBase, got, want, one.figures[0].ratio())
		}
		if got := one.figures[1].verdict(); got != NotSlower {
			t.Errorf("as many objects for each lock: %s", got)
		}
		var table bytes.Buffer
		if err := res.Print(&table); err != nil || !strings.Contains(table.String(), string(want)) {
			t.Errorf("the table does not say %s: %v\n%s", want, err, table.String())
		}
	}
}

func TestProcessorTimeIsOfTheRenewals(t *testing.T) {
	kept := func(cpu time.Duration) float64 {
		return perProcessor([]load.Recording{{Held: &load.Keeping{Renewals: 1000, CPU: cpu}}}, load.Window{})
	}
	if once, twice := kept(100*time.Millisecond), kept(200*time.Millisecond); once != 10_000 || twice != 5_000 {
		t.Errorf("%v and %v renewals for each second of processor time, want 10000 and 5000", once, twice)
	}
}

func TestNothingIsNoVerdict(t *testing.T) {
	one := &row{figures: []*figure{pace()}}
	for version := range 2 {
		one.note(version, []load.Recording{{}}, load.Window{End: 50e6})
	}
	if got := one.figures[0].verdict(); got != Nothing || !one.decided() {
		t.Errorf("neither version did anything: %s", got)
	}
}
