package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/bench"
)

// printScaling prints a workload at its sizes, and what grows with them.
func printScaling(w io.Writer, s bench.Scaling) {
	heading(w, s.Title, s.Name)
	if s.Note != "" {
		fmt.Fprintf(w, "Redlatch; %s.\n\n", s.Note)
	}
	t := &table{}
	head := []string{""}
	for _, size := range s.Sizes {
		head = append(head, thousands(size)+" "+s.Of)
	}
	t.add(append(head, "growth")...)
	for _, f := range s.Figures {
		cells := []string{f.What}
		for _, v := range f.Values {
			cells = append(cells, figure(f.Unit, v))
		}
		t.add(append(cells, ratio(f.Growth()))...)
	}
	t.print(w)
	fmt.Fprintln(w)
	for _, f := range s.Figures {
		if !f.Limited {
			continue
		}
		verdict := "reached"
		if !f.Met() {
			verdict = "**missed**"
		}
		value := f.Values[len(f.Values)-1]
		fmt.Fprintf(w, "- redlatch: %s, at most %s: %s, %s\n", f.What, figure(f.Unit, f.AtMost), figure(f.Unit, value), verdict)
	}
}

func figure(unit bench.Unit, v float64) string {
	switch unit {
	case bench.Span:
		return span(time.Duration(v))
	case bench.Bytes:
		return size(v)
	case bench.Share:
		return strconv.FormatFloat(v, 'f', 2, 64)
	default:
		return thousands(int(v))
	}
}

// size is a number of bytes in three digits or so.
func size(v float64) string {
	switch much := max(v, -v); {
	case much < 10<<10:
		return fmt.Sprintf("%.0f B", v)
	case much < 10<<20:
		return fmt.Sprintf("%.0f KiB", v/(1<<10))
	}
	return fmt.Sprintf("%.0f MiB", v/(1<<20))
}

// thousands separates them.
func thousands(n int) string {
	if n < 0 {
		return "-" + thousands(-n)
	}
	digits := strconv.Itoa(n)
	var groups []string
	for len(digits) > 3 {
		groups = append([]string{digits[len(digits)-3:]}, groups...)
		digits = digits[:len(digits)-3]
	}
	return strings.Join(append([]string{digits}, groups...), ",")
}
