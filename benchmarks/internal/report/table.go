// Package report shows the results of a run: as tables, as JSON, as plots.
package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// table is a Markdown table that also reads well in a terminal. The first column is
// text, the others are figures.
type table struct{ rows [][]string }

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) print(w io.Writer) {
	widths := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for n, row := range t.rows {
		for i, cell := range row {
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				fmt.Fprintf(w, "| %s%s ", cell, space)
			} else {
				fmt.Fprintf(w, "| %s%s ", space, cell)
			}
		}
		fmt.Fprintln(w, "|")
		if n == 0 {
			fmt.Fprintf(w, "|%s", strings.Repeat("-", widths[0]+2))
			for _, width := range widths[1:] {
				fmt.Fprintf(w, "|%s:", strings.Repeat("-", width+1))
			}
			fmt.Fprintln(w, "|")
		}
	}
}
