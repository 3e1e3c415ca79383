package report

import (
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/bench"
	"github.com/redlatch/redlatch/benchmarks/internal/paired"
)

// Print prints the tables, in Markdown. images is where the plots are, as seen from
// the document; empty for none.
func Print(w io.Writer, res *bench.Result, images string) {
	m := res.Machine
	fmt.Fprintf(w, "- %s, %d cores (%s), Redis %s, %s, %s\n", m.CPU, m.Cores, m.OS, m.Redis, m.Go, m.Time.Format(time.DateOnly))
	if m.Load != "" {
		fmt.Fprintf(w, "- load average before the run: %s\n", m.Load)
	}
	if len(m.Others) > 0 {
		fmt.Fprintf(w, "- beside Redis: %s; %v to sync 4 KiB to their disk\n", others(m.Others), span(m.Sync))
	}
	var versions []string
	for _, module := range slices.Sorted(maps.Keys(m.Modules)) {
		versions = append(versions, module+" "+m.Modules[module])
	}
	fmt.Fprintf(w, "- %s\n", strings.Join(versions, ", "))
	s := res.Settings
	if s.Sweeps > 0 {
		fmt.Fprintf(w, "- slices: %d of %v for each peer, in turn; acquisitions per second are their median\n", s.Sweeps, s.Slice)
	}
	fmt.Fprintf(w, "- rounds: %d of %v each, after %v of warm-up; the figures are medians of the rounds\n", s.Rounds, s.For, s.Warm)
	for _, p := range res.Peers {
		fmt.Fprintf(w, "- %s: %s\n", p.Name, p.Settings)
	}
	for _, why := range res.LeftOut {
		fmt.Fprintf(w, "- left out: %s\n", why)
	}
	for _, section := range res.Workloads {
		heading(w, section.Title, section.Name)
		if images != "" {
			fmt.Fprintf(w, "![%s: acquisitions per second and waits](%s)\n\n", section.Name, path.Join(images, plotOf(section)))
		}
		printSection(w, section)
	}
	for _, scaling := range res.Scale {
		printScaling(w, scaling)
	}
}

func heading(w io.Writer, title, name string) { fmt.Fprintf(w, "\n### %s (%s)\n\n", title, name) }

func printSection(w io.Writer, s bench.Section) {
	withPings := slices.ContainsFunc(s.Rows, func(r bench.Row) bool { return r.Pings > 0 })
	t := &table{}
	head := []string{"", "per second", "to fastest", "95 %", "p50", "p99", "max", "EVALSHA", "commands", "evenness", "least..most"}
	if withPings {
		head = append(head, "PINGs", "rested PINGs")
	}
	t.add(head...)
	for _, r := range s.Rows {
		cells := []string{
			r.Peer, fmt.Sprintf("%.0f", r.PerSecond), ratio(r.ToFastest), spread(r.Spread),
			span(r.P50), span(r.P99), span(r.Max),
			counted(r, "%.2f", r.Scripts), counted(r, "%.1f", r.Commands),
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

// others are servers with their versions.
func others(versions map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		all = append(all, name+" "+versions[name])
	}
	return strings.Join(all, ", ")
}

// counted is a figure that Redis counts.
func counted(r bench.Row, format string, figure float64) string {
	if r.Elsewhere {
		return "-"
	}
	return fmt.Sprintf(format, figure)
}

func printOutcomes(w io.Writer, outcomes []bench.Outcome) {
	if len(outcomes) > 0 {
		fmt.Fprintln(w)
	}
	for _, o := range outcomes {
		verdict := "not measured"
		if o.Met || o.Missed {
			verdict = fmt.Sprintf("%.3g", o.Value)
			if o.Spread.Pairs > 0 {
				verdict += ", 95 %: " + spread(o.Spread)
			}
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

// spread is the interval of a median.
func spread(r paired.Ratio) string {
	if !r.Known() {
		return "-"
	}
	return fmt.Sprintf("%.3g..%.3g", r.Lo, r.Hi)
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
