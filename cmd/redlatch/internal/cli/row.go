package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/redlatch/redlatch/internal/view"
)

// look asks for the locks of those names.
func (r *redlatch) look(ctx context.Context, names []string) ([]view.Row, error) {
	since, _ := view.GrantsOf(ctx, r.Client)
	return view.Look(ctx, r.Client, names, since)
}

// table prints rows for people.
func table(w io.Writer, rows []view.Row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tSTATE\tHOLDER\tHELD\tLEASE\tWAITERS\tTOKEN")
	for _, r := range rows {
		holder := r.Holder
		if n := len(r.Others); n > 0 {
			holder += fmt.Sprintf(", and %d more", n)
		}
		state := r.State
		if r.Count > 1 {
			state += fmt.Sprintf(" x%d", r.Count)
		}
		if r.Kind == "fair" {
			state += ", fair"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, state, or(holder, "-"), lasting(r.Held), lasting(r.Lease), waiting(&r), number(r.Token))
	}
	return t.Flush()
}

// waiting is how many wait, and for how long the first has.
func waiting(r *view.Row) string {
	n := r.Queue()
	if n == 0 {
		return "-"
	}
	longest := 0.0
	for _, w := range r.Waiters {
		if w.Since != nil {
			longest = max(longest, *w.Since)
		}
	}
	if longest == 0 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d, first %s", n, lasting(&longest))
}

// lasting is a time for people: 1.2s, 3m10s.
func lasting(s *float64) string {
	if s == nil {
		return "-"
	}
	d := time.Duration(*s * float64(time.Second))
	if d < time.Minute {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

func number(n int64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// printJSON prints one value on a line.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// unique sorts names, and leaves out doubles and those that do not begin so.
func unique(names []string, begun string) []string {
	slices.Sort(names)
	names = slices.Compact(names)
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, begun) })
}

// globbed is the pattern of all names that begin so.
func globbed(begun string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(begun) + "*"
}

// plain is the text of an error, without the library's name in front: the program has the same.
func plain(err error) string { return strings.TrimPrefix(err.Error(), "redlatch: ") }
