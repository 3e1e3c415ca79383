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

	"github.com/redlatch/redlatch/reentrant"
)

// row is what is shown of one lock.
type row struct {
	Name    string   `json:"name"`
	Kind    string   `json:"kind"`
	State   string   `json:"state"` // free, held, read, write, or kept: released, and nobody's until the TTL ends
	Holder  string   `json:"holder,omitempty"`
	Field   string   `json:"field,omitempty"` // of the holder; force-unlock, extend and release take it
	From    string   `json:"from,omitempty"`  // Go or Java
	Count   int      `json:"count,omitempty"`
	Held    *float64 `json:"held_seconds,omitempty"` // known for the oldest holds of Clients with a name, and with fencing
	Lease   *float64 `json:"lease_seconds,omitempty"`
	Token   int64    `json:"token,omitempty"`
	Waiters []waits  `json:"waiters,omitempty"`
	Java    int      `json:"redisson_waiters,omitempty"` // clients of Redisson that wait; -1: not known
	Others  []string `json:"others,omitempty"`           // further holders
}

// waits is one that waits.
type waits struct {
	Who   string   `json:"who"`
	Since *float64 `json:"seconds,omitempty"`
}

// queue is how many wait, as far as it is known.
func (r *row) queue() int { return len(r.Waiters) + max(0, r.Java) }

func seconds(d time.Duration) *float64 {
	s := d.Round(time.Millisecond).Seconds()
	return &s
}

// rowOf makes a row. since are the grants that Clients have reported, by field and name.
func rowOf(i reentrant.Info, since map[string]time.Time) row {
	r := row{Name: i.Name, Kind: i.Kind, State: "free", Token: i.Token, Java: i.Redisson}
	if i.Held {
		r.State, r.Holder, r.Field, r.From, r.Count = "held", i.Holder.String(), i.Holder.Field, string(i.Holder.From), i.Count
		if i.TTL >= 0 {
			r.Lease = seconds(i.TTL)
		}
		if granted, known := since[i.Holder.Field+" "+i.Name]; known {
			r.Held = seconds(max(0, i.At.Sub(granted)))
		}
	}
	switch {
	case i.Kept:
		r.State = "kept"
	case i.Mode != "":
		r.State = i.Mode
	}
	for _, other := range i.Others {
		r.Others = append(r.Others, other.String())
	}
	for _, w := range i.Waiters {
		one := waits{Who: w.Party.String()}
		if !w.Since.IsZero() {
			one.Since = seconds(max(0, i.At.Sub(w.Since)))
		}
		r.Waiters = append(r.Waiters, one)
	}
	return r
}

// grants are the grants that Clients have reported. Without a right to the reports none is known.
func (r *redlatch) grants(ctx context.Context) map[string]time.Time {
	since := make(map[string]time.Time)
	clients, _ := r.Clients(ctx)
	for _, c := range clients {
		for _, h := range c.Oldest {
			since[h.Field+" "+h.Name] = h.Since
		}
	}
	return since
}

// look asks for the locks of those names.
func (r *redlatch) look(ctx context.Context, names []string) ([]row, error) {
	since := r.grants(ctx)
	rows := make([]row, 0, len(names))
	for _, name := range names {
		info, err := r.Inspect(ctx, name)
		if err != nil {
			return rows, err
		}
		rows = append(rows, rowOf(info, since))
	}
	return rows, nil
}

// table prints rows for people.
func table(w io.Writer, rows []row) error {
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
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, state, or(holder, "-"), lasting(r.Held), lasting(r.Lease), r.waiting(), number(r.Token))
	}
	return t.Flush()
}

// waiting is how many wait, and for how long the first has.
func (r *row) waiting() string {
	n := r.queue()
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
