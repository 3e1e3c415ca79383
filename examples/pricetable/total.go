package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// total is what all readers of a round have seen.
type total struct {
	way
	tally
}

// summary is a table of the rounds.
func summary(totals []total) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "round\twhole tables read\thalf written\treads without a command for the lock")
	for _, t := range totals {
		share := "-"
		if all := t.Whole + t.Half; t.locked && all > 0 {
			share = fmt.Sprintf("%.1f %%", 100*float64(t.Shared)/float64(all))
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\n", t.name, t.Whole, t.Half, share)
	}
	w.Flush()
	return strings.TrimRight(text.String(), "\n")
}

// check fails if a reader took a half-written table for a whole one, or found one that a lock
// should have kept from it.
func check(totals []total) error {
	for _, t := range totals {
		switch {
		case t.Whole == 0:
			return fmt.Errorf("%s: nobody has read the table", t.name)
		case t.Mixed > 0:
			return fmt.Errorf("%s: %d reads saw prices of two editions", t.name, t.Mixed)
		case t.locked && t.killed == 0 && t.Half > 0:
			return fmt.Errorf("%s: %d reads saw a half-written table", t.name, t.Half)
		}
	}
	return nil
}
