package chaos

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/redlatch/redlatch/internal/history"
	"github.com/redlatch/redlatch/internal/oracle"
)

// Report is what a run has shown.
type Report struct {
	Seed   uint64
	Rounds int
	Ops    map[string]int // operations by kind and outcome
	Faults map[string]int // faults that were injected, by kind
	Found  []oracle.Violation

	began    time.Time
	took     time.Duration
	hits     int64 // requests that the proxies' rules acted on
	checked  int   // operations that porcupine looked at
	given    int   // locks of a round for which its time ran out
	sent     int
	allowed  int
	stormy   time.Duration
	settled  time.Duration // the longest
	notice   time.Duration // the longest from the end of validity to the news of the loss
	silences int
	starved  int
}

func newReport(seed uint64) *Report {
	return &Report{Seed: seed, Ops: make(map[string]int), Faults: make(map[string]int), began: time.Now()}
}

func (r *Report) add(last result) {
	r.Rounds++
	r.took = time.Since(r.began)
	r.Found = append(r.Found, last.found...)
	r.checked += last.verdict.Checked
	r.given += last.verdict.Undecided
	r.sent += last.requests.Sent
	r.allowed += last.requests.Allowed()
	r.stormy += last.requests.Span
	r.settled = max(r.settled, last.settled)
	for _, op := range last.history.Ops {
		r.Ops[string(op.Kind)+" "+string(op.Outcome)]++
		if op.Kind == history.Lost && op.ValidUntil != 0 {
			r.notice = max(r.notice, op.Call.Sub(op.ValidUntil))
		}
	}
	for _, f := range last.history.Faults {
		switch f.Kind {
		case slow:
			r.silences++
		case starved:
			r.starved++
		default:
			r.Faults[f.Kind]++
		}
	}
}

// line is for those who watch.
func (r *Report) line(last result) string {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	granted, lost := 0, 0
	for _, op := range last.history.Ops {
		switch {
		case op.Kind == history.Acquire && op.Outcome == history.OK:
			granted++
		case op.Kind == history.Lost:
			lost++
		}
	}
	verdict := "all oracles content"
	if n := len(last.found); n > 0 {
		verdict = fmt.Sprintf("%d VIOLATIONS", n)
	}
	return fmt.Sprintf("%6s round %d: %d operations, %d grants, %d losses, %d faults, tidy after %v, heap %d MB: %s",
		r.took.Round(time.Second), r.Rounds-1, len(last.history.Ops), granted, lost, len(last.history.Faults),
		last.settled.Round(time.Millisecond), memory.HeapAlloc>>20, verdict)
}

func (r *Report) String() string {
	var b strings.Builder
	faults := 0
	for _, n := range r.Faults {
		faults += n
	}
	fmt.Fprintf(&b, "chaos: seed %d: %d rounds in %v\n", r.Seed, r.Rounds, r.took.Round(time.Second))
	list(&b, "operations", r.Ops)
	list(&b, "faults injected", r.Faults)
	fmt.Fprintf(&b, "  requests hit on their way: %d; the server silent for more than %v: %d times, this process for more than %v: %d times\n",
		r.hits, slowAfter, r.silences, starvedAfter, r.starved)
	fmt.Fprintf(&b, "  scripts sent: %d, %.0f/s, %.2f of what is allowed\n", r.sent, float64(r.sent)/r.stormy.Seconds(), float64(r.sent)/float64(max(1, r.allowed)))
	fmt.Fprintf(&b, "  porcupine: %d operations, %d locks undecided\n", r.checked, r.given)
	fmt.Fprintf(&b, "  news of a loss at most %v after the end of validity; tidy at most %v after the storm\n",
		r.notice.Round(time.Microsecond), r.settled.Round(time.Millisecond))
	if len(r.Found) == 0 {
		fmt.Fprintf(&b, "  %d faults, no violation", faults)
	} else {
		fmt.Fprintf(&b, "  %d faults, %d VIOLATIONS", faults, len(r.Found))
	}
	return b.String()
}

func list(b *strings.Builder, title string, counts map[string]int) {
	fmt.Fprintf(b, "  %s:\n", title)
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(b, "    %7d  %s\n", counts[name], name)
	}
}
