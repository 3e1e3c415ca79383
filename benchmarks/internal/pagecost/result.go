//go:build unix

package pagecost

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Limit is what another client's PING may take while a page is open, 99 times in a hundred.
const Limit = 5 * time.Millisecond

// Result has every PING.
type Result struct {
	Config   Config
	Redis    string // its version
	Words    int    // that open pages were told
	Searches int

	times [][]time.Duration // by part
	spent [3]time.Duration  // by part
}

// TooSlow reports whether the p99 beside an open page is above [Limit].
func (r *Result) TooSlow() bool { return r.percentile(1, 0.99) > Limit }

func (r *Result) percentile(which int, p float64) time.Duration {
	sorted := slices.Sorted(slices.Values(r.times[which]))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(p*float64(len(sorted))))]
}

// Print writes a table.
func (r *Result) Print(to io.Writer) error {
	c := r.Config
	fmt.Fprintf(to, "redis-server %s, %d cores, load average %s\n", r.Redis, runtime.NumCPU(), load())
	fmt.Fprintf(to, "%d strings, %d hashes, %d locks held, %d waited for; %d rounds, pages told %d times, %d searches\n\n",
		c.Strings, c.Hashes, c.Locks, c.Waiters, c.Rounds, r.Words, r.Searches)
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "another client's PING\ttime\tPINGs\tp50\tp99\tmax")
	for i, part := range parts {
		fmt.Fprintf(table, "%s\t%.1f s\t%d\t%s\t%s\t%s\n", part, r.spent[i].Seconds(), len(r.times[i]),
			span(r.percentile(i, 0.5)), span(r.percentile(i, 0.99)), span(r.percentile(i, 1)))
	}
	return table.Flush()
}

func span(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}

// load is the average of the last 1, 5 and 15 minutes; "unknown" where it cannot be told.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(text))
	if len(fields) < 3 {
		return "unknown"
	}
	return strings.Join(fields[:3], ", ")
}
