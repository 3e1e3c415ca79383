package chaos

import (
	"reflect"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/history"
)

// The schedule is the seed's and nothing else's: a failure can be repeated.
func TestPlanIsTheSeeds(t *testing.T) {
	t.Parallel()
	locks := namesOf(allTargets)
	a, b := draw(7, 3, 8*time.Second, 5, locks), draw(7, 3, 8*time.Second, 5, locks)
	if !reflect.DeepEqual(a, b) {
		t.Errorf("one seed, two plans:\n%v\n%v", a, b)
	}
	for _, other := range [][][]strike{draw(8, 3, 8*time.Second, 5, locks), draw(7, 4, 8*time.Second, 5, locks)} {
		if reflect.DeepEqual(a, other) {
			t.Errorf("another seed or round has the same plan: %v", a)
		}
	}
}

// Every kind comes up, and in each lane one fault at a time.
func TestPlanDrawsEveryKind(t *testing.T) {
	t.Parallel()
	drawn := make(map[*kind]int)
	for round := range 50 {
		lanes := draw(1, round, 8*time.Second, 5, namesOf(allTargets))
		if len(lanes) != 6 {
			t.Fatalf("%d lanes, want one for the server and five for clients", len(lanes))
		}
		for i, lane := range lanes {
			var free time.Duration
			for _, s := range lane {
				drawn[s.kind]++
				if s.at < free || s.lasts < s.kind.least || s.lasts > s.kind.most {
					t.Errorf("round %d, lane %d: %s at %v for %v, the one before it lasts until %v", round, i, s.kind.name, s.at, s.lasts, free)
				}
				if want := i - 1; s.client != want {
					t.Errorf("lane %d strikes client %d, want %d", i, s.client, want)
				}
				free = s.at + s.lasts + s.kind.gap
			}
		}
	}
	for _, k := range append(serverKinds, clientKinds...) {
		if drawn[k] == 0 {
			t.Errorf("%s is never drawn", k.name)
		}
	}
}

// What a fault excuses goes into the history with it.
func TestFaultsSayWhatTheyExcuse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind              string
		lasts             time.Duration
		outlasts, forgets bool
	}{
		{"stop", 50 * ms, false, false},
		{"stop past the lease", lease + 50*ms, true, false},
		{"kill, restart without its data", 1 * ms, true, true},
		{"force", 1 * ms, false, true},
		{"full", 600 * ms, true, false},
		{"deaf", 900 * ms, false, false},
		{"kept back", 900 * ms, false, false},
		{"cut", 1 * ms, true, false},
	} {
		found := false
		for _, k := range append(serverKinds, clientKinds...) {
			if k.name != test.kind {
				continue
			}
			found = true
			f := strike{kind: k, client: history.Everyone, lasts: test.lasts, lock: "stock"}.fault()
			if f.Outlasts != test.outlasts || f.Forgets != test.forgets || (f.Lock != "") != k.oneLock {
				t.Errorf("%s for %v: %+v", test.kind, test.lasts, f)
			}
		}
		if !found {
			t.Errorf("there is no %q", test.kind)
		}
	}
}
