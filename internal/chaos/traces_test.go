package chaos_test

import (
	"flag"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/chaos"
	"github.com/redlatch/redlatch/internal/tracecheck"
)

var (
	samples = flag.Int("samples", 5, "rounds of which TestTraces checks the trace of each lock")
	entries = flag.Int("entries", 400, "scripts of a trace, at most")
)

// together is how many rounds go to TLC at once: it takes a second to start, and reads no more than some
// thousand entries quickly.
const together = 5

// TestTraces checks what Redis executes of each lock under chaos against the model.
func TestTraces(t *testing.T) {
	model := tracecheck.NewModel(t, "../../spec")
	first := *seed
	if first == 0 {
		first = uint64(time.Now().UnixNano())
	}
	checked, length := 0, 0
	for n := 0; n < *samples && !t.Failed(); {
		var traces []*tracecheck.Trace
		for end := min(n+together, *samples); n < end; n++ {
			for _, trace := range chaos.Sample(t, first+uint64(n), 2*time.Second, *entries) {
				if trace.Cut != nil {
					t.Errorf("%s: %v", trace.Name, trace.Cut)
				}
				traces = append(traces, trace)
				length += len(trace.Entries)
			}
		}
		refused, err := model.Check(t.Context(), traces...)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range refused[:min(len(refused), 3)] {
			if err := model.Explain(t.Context(), r); err != nil {
				t.Error(err)
			}
			t.Error(r)
		}
		if len(refused) > 3 {
			t.Errorf("and %d more of %d traces", len(refused)-3, len(traces))
		}
		checked += len(traces)
	}
	t.Logf("from seed %d: %d traces, %d scripts", first, checked, length)
	if length < 20*checked {
		t.Error("that shows little")
	}
}
