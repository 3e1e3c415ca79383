package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/redlatch/redlatch/examples/internal/demo"
)

// result is what came of one sale.
type result struct {
	Way      string
	Orders   int
	Oversold int // orders for which there is no item
	Twice    int // users with two orders
	Nested   int64
	Took     time.Duration
	Waits    []time.Duration // sorted
}

// quantile is the wait that a part q of the clicks did not exceed.
func (r result) quantile(q float64) time.Duration {
	if len(r.Waits) == 0 {
		return 0
	}
	return r.Waits[int(q*float64(len(r.Waits)-1))]
}

// check says what was sold wrong.
func (r result) check(c config) error {
	if want := min(c.Items, c.Users); r.Orders != want || r.Oversold > 0 || r.Twice > 0 {
		return fmt.Errorf("%s: %d orders, %d oversold, %d users with two; want %d orders, one a user",
			r.Way, r.Orders, r.Oversold, r.Twice, want)
	}
	return nil
}

// table has a line for each result.
func table(results []result) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "lock\torders\toversold\tusers with two\torders/s\twait p50\twait p99\t")
	for _, r := range results {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%.0f\t%s\t%s\t\n", r.Way, r.Orders, r.Oversold, r.Twice,
			float64(r.Orders)/r.Took.Seconds(), demo.MS(r.quantile(0.5)), demo.MS(r.quantile(0.99)))
	}
	w.Flush()
	return strings.TrimRight(text.String(), "\n")
}

// conclude says in words what the table shows.
func conclude(log *demo.Log, c config, results []result) {
	log.Printf("")
	for _, r := range results {
		if err := r.check(c); err != nil {
			log.Printf("%-12s  wrong: %d orders for %d items, and %d users have two", r.Way, r.Orders, c.Items, r.Twice)
			continue
		}
		log.Printf("%-12s  right: %d orders for %d items, one a user; the lock was re-entered %d times",
			r.Way, r.Orders, c.Items, r.Nested)
	}
}
