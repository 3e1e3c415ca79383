package chaos

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/tracecheck"
)

// Sample torments plain locks of new Clients and a new server for one round, and returns the trace of each lock, of at most most
// entries. The faults are those that MONITOR survives.
func Sample(t testing.TB, seed uint64, storm time.Duration, most int) (traces []*tracecheck.Trace) {
	t.Helper()
	locks, err := targetsOf(plain)
	if err != nil {
		t.Fatal(err)
	}
	a := newArena(t, seed, locks)
	a.sampled = true
	recorder := tracecheck.Record(t, a.server.Addr())
	found := a.run(0, storm).found
	runs, err := recorder.Stop()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range append(found, a.closeAll()...) {
		t.Errorf("chaos: seed %d: %v", seed, v)
	}
	for _, lock := range namesOf(a.targets) {
		traces = append(traces, tracecheck.Convert(fmt.Sprintf("seed %d, lock %s", seed, lock), lock, runs, most))
	}
	return traces
}

// seen drops the faults that MONITOR does not survive.
func seen(plan [][]strike) [][]strike {
	for i := range plan {
		plan[i] = slices.DeleteFunc(plan[i], func(s strike) bool { return s.kind.unseen })
	}
	return plan
}
