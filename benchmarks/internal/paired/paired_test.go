package paired

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestEachFollowsEachEquallyOften(t *testing.T) {
	for n := 1; n <= 9; n++ {
		follows := make(map[[2]int]int)
		for sweep := range 2 * n {
			order := Order(n, sweep)
			if sorted := slices.Sorted(slices.Values(order)); sorted[0] != 0 || sorted[n-1] != n-1 || len(slices.Compact(sorted)) != n {
				t.Fatalf("%d contenders, sweep %d: %v", n, sweep, order)
			}
			for i := 1; i < n; i++ {
				follows[[2]int{order[i-1], order[i]}]++
			}
		}
		for a := range n {
			for b := range n {
				if got := follows[[2]int{a, b}]; a != b && got != 2 {
					t.Errorf("of %d contenders %d follows %d %d times in %d sweeps, want 2", n, b, a, got, 2*n)
				}
			}
		}
	}
}

func TestTwoChangePlacesEachSweep(t *testing.T) {
	for sweep, want := range [][]int{{0, 1}, {1, 0}, {1, 0}, {0, 1}, {0, 1}} {
		if got := Order(2, sweep); !slices.Equal(got, want) {
			t.Errorf("sweep %d: %v, want %v", sweep, got, want)
		}
	}
}

// A machine that becomes ten times slower meanwhile, and now and then stops.
func TestDriftAndStallsCancelOut(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var a, b []float64
	speed := 10_000.0
	for range 200 {
		speed *= math.Pow(0.1, 1.0/200)
		slice := func() float64 {
			if random.IntN(20) == 0 {
				return speed * random.Float64() / 10
			}
			return speed * (1 + 0.05*random.NormFloat64())
		}
		a, b = append(a, 0.9*slice()), append(b, slice())
	}
	r := Of(a, b)
	if r.Pairs != 200 || !r.Known() || r.Lo > 0.9 || r.Hi < 0.9 || r.Hi-r.Lo > 0.06 {
		t.Errorf("%+v, want a narrow interval around 0.9", r)
	}
	if r.Q1 >= r.Lo || r.Q3 <= r.Hi {
		t.Errorf("%+v: the quartiles are within the interval of the median", r)
	}
}

// The interval must have the true ratio in it about 95 times in a hundred.
func TestTheIntervalKeepsItsPromise(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	hits, trials := 0, 2000
	for range trials {
		a, b := make([]float64, 60), make([]float64, 60)
		for i := range a {
			a[i], b[i] = math.Exp(0.2*random.NormFloat64()), math.Exp(0.2*random.NormFloat64())
		}
		if r := Of(a, b); r.Lo <= 1 && 1 <= r.Hi {
			hits++
		}
	}
	if share := float64(hits) / float64(trials); share < 0.93 || share > 0.99 {
		t.Errorf("the interval has the true ratio in it %.3f of the times, want 0.95", share)
	}
}

func TestSlicesOfNothing(t *testing.T) {
	if r := Of(nil, nil); r != (Ratio{}) || r.Known() {
		t.Errorf("of no pairs: %+v", r)
	}
	if r := Of([]float64{0, 2}, []float64{0, 1}); r.Pairs != 1 || r.Median != 2 {
		t.Errorf("two that did nothing are no pair: %+v", r)
	}
	if r := Of([]float64{1, 1, 1}, []float64{0, 0, 0}); r.Median != Beyond || r.Hi != Beyond {
		t.Errorf("beside nothing: %+v", r)
	}
	if r := Of([]float64{3, 1, 2}, []float64{1, 1, 1}); r.Median != 2 || r.Lo != 1 || r.Hi != 3 || r.Known() {
		t.Errorf("few pairs: %+v", r)
	}
}
