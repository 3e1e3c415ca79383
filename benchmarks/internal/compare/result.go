//go:build unix

package compare

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
)

// Result is what came of a comparison.
type Result struct {
	Base, Head string
	rows       []*row
}

// Slower reports whether any figure is.
func (r *Result) Slower() bool { return r.any(Slower) }

// Undecided reports whether a figure needs more slices.
func (r *Result) Undecided() bool { return r.any(Undecided) }

func (r *Result) any(v Verdict) bool {
	return slices.ContainsFunc(r.rows, func(one *row) bool {
		return slices.ContainsFunc(one.figures, func(f *figure) bool { return f.verdict() == v })
	})
}

// Print prints the table. More is better in all of its figures.
func (r *Result) Print(w io.Writer) error {
	fmt.Fprintf(w, "base: %s\nhead: %s\n\n", r.Base, r.Head)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "row\tfigure\tbase\thead\thead/base\t95 % of the median\tquartiles\tpairs\t")
	for _, one := range r.rows {
		for _, f := range one.figures {
			ratio := f.ratio()
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%.3f\t%.3f..%.3f\t%.3f..%.3f\t%d\t%s\n", one.Name, f.What,
				number(middle(f.pairs[0])), number(middle(f.pairs[1])),
				ratio.Median, ratio.Lo, ratio.Hi, ratio.Q1, ratio.Q3, ratio.Pairs, f.verdict())
		}
	}
	return t.Flush()
}

// middle is the median of what a version did.
func middle(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

// number is a figure in three digits or more.
func number(v float64) string {
	digits := max(0, 2-int(math.Floor(math.Log10(max(v, 1)))))
	return fmt.Sprintf("%.*f", digits, v)
}
