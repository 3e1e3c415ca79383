package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/bench"
)

// Print prints the tables, in Markdown.
func Print(w io.Writer, res *bench.Result) {
	m := res.Machine
	fmt.Fprintf(w, "%s, %d cores (%s), Redis %s, %s, %s\n", m.CPU, m.Cores, m.OS, m.Redis, m.Go, m.Time.Format(time.DateOnly))
	var versions []string
	for _, path := range slices.Sorted(maps.Keys(m.Modules)) {
		versions = append(versions, path+" "+m.Modules[path])
	}
	fmt.Fprintln(w, strings.Join(versions, ", "))
	s := res.Settings
	fmt.Fprintf(w, "rounds: %d of %v each, after %v of warm-up; the figures are medians of the rounds\n", s.Rounds, s.For, s.Warm)
	for _, p := range res.Peers {
		fmt.Fprintf(w, "- %s: %s\n", p.Name, p.Settings)
	}
	for _, why := range res.LeftOut {
		fmt.Fprintf(w, "- left out: %s\n", why)
	}
	for _, section := range res.Workloads {
		printSection(w, section)
	}
	if res.Held != nil {
		printHeld(w, res.Held)
	}
}

func printSection(w io.Writer, s bench.Section) {
	fmt.Fprintf(w, "\n## %s (%s)\n\n", s.Title, s.Name)
	withPings := slices.ContainsFunc(s.Rows, func(r bench.Row) bool { return r.Pings > 0 })
	t := &table{}
	head := []string{"", "per second", "to fastest", "p50", "p99", "max", "EVALSHA", "commands", "evenness", "least..most"}
	if withPings {
		head = append(head, "PINGs", "rested PINGs")
	}
	t.add(head...)
	for _, r := range s.Rows {
		cells := []string{
			r.Peer, fmt.Sprintf("%.0f", r.PerSecond), ratio(r.ToFastest),
			span(r.P50), span(r.P99), span(r.Max),
			fmt.Sprintf("%.2f", r.Scripts), fmt.Sprintf("%.1f", r.Commands),
			fmt.Sprintf("%.2f", r.Evenness), fmt.Sprintf("%d..%d", r.Least, r.Most),
		}
		if withPings {
			cells = append(cells, fmt.Sprintf("%.1f", r.Pings), fmt.Sprintf("%.1f", r.Rested))
		}
		t.add(cells...)
	}
	t.print(w)
	printOutcomes(w, s.Outcomes)
}

func printHeld(w io.Writer, h *bench.HeldResult) {
	fmt.Fprintf(w, "\n## %d held locks, renewed every %v (many-held)\n\n", h.Locks, h.Period)
	t := &table{}
	t.add("", "figure")
	t.add("processor time per period", span(h.CPU))
	t.add("of Redis, PINGs included", span(h.ServerCPU))
	t.add("renewals in the window", fmt.Sprint(h.Renewals))
	t.add("EVALSHA in the window", fmt.Sprint(h.Scripts))
	t.add("goroutines more than with 64 locks", fmt.Sprint(h.Goroutines))
	t.add("bytes of heap per lock", fmt.Sprintf("%.0f", h.HeapPerLock))
	t.add("bytes in Redis per lock", fmt.Sprintf("%.0f", h.ServerMemory))
	t.add(fmt.Sprintf("another client's PING, p50 of %d", h.Pings), span(h.PingP50))
	t.add("p99", span(h.PingP99))
	t.add("max", span(h.PingMax))
	t.print(w)
	printOutcomes(w, h.Outcomes)
}

func printOutcomes(w io.Writer, outcomes []bench.Outcome) {
	if len(outcomes) > 0 {
		fmt.Fprintln(w)
	}
	for _, o := range outcomes {
		verdict := "not measured"
		if o.Met || o.Missed {
			verdict = fmt.Sprintf("%.3g", o.Value)
			if o.Than != "" {
				verdict += " (" + o.Than + ")"
			}
			if o.Met {
				verdict += ", reached"
			} else {
				verdict += ", **missed**"
			}
		}
		fmt.Fprintf(w, "- %s: %s\n", o.Goal, verdict)
	}
}

func ratio(r float64) string {
	if r == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3gx", r)
}

// span is a duration in three digits or so.
func span(d time.Duration) string {
	switch {
	case d < 10*time.Microsecond:
		return d.Round(10 * time.Nanosecond).String()
	case d < 10*time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < 10*time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}
