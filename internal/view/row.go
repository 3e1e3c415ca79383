// Package view is what people are shown of locks: one Row for each, in the command redlatch and on the page of redlatchui.
// It asks Redis by a Client, keeps nothing, and has no goroutine.
package view

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// Row is what is shown of one lock.
type Row struct {
	Name    string   `json:"name"`
	Kind    string   `json:"kind"`
	State   string   `json:"state"` // free, held, read, write, or kept: released, and nobody's until the TTL ends
	Holder  string   `json:"holder,omitempty"`
	Field   string   `json:"field,omitempty"` // of the holder, whole, as the lock's hash has it
	From    string   `json:"from,omitempty"`  // Go or Java
	Count   int      `json:"count,omitempty"`
	Held    *float64 `json:"held_seconds,omitempty"` // known for the oldest holds of Clients with a name
	Lease   *float64 `json:"lease_seconds,omitempty"`
	Token   int64    `json:"token,omitempty"`
	Waiters []Waiter `json:"waiters,omitempty"`
	Java    int      `json:"redisson_waiters,omitempty"` // clients of Redisson that wait; -1: not known
	Others  []string `json:"others,omitempty"`           // further holders
}

// Waiter is one that waits.
type Waiter struct {
	Who   string   `json:"who"`
	Since *float64 `json:"seconds,omitempty"`
}

// Queue is how many wait, as far as it is known.
func (r *Row) Queue() int { return len(r.Waiters) + max(0, r.Java) }

// Grants are the times at which Clients were granted locks, by the holder's field and the lock's name, as far as the Clients
// have reported them.
type Grants map[[2]string]time.Time

// GrantsOf reads the reports. Without a right to them no time is known.
func GrantsOf(ctx context.Context, c *reentrant.Client) (Grants, []reentrant.ClientReport) {
	since := make(Grants)
	reports, _ := c.Clients(ctx)
	for _, r := range reports {
		for _, h := range r.Oldest {
			since[[2]string{h.Field, h.Name}] = h.Since
		}
	}
	return since, reports
}

// Of makes a row.
func Of(i reentrant.Info, since Grants) Row {
	r := Row{Name: i.Name, Kind: i.Kind, State: "free", Token: i.Token, Java: i.Redisson}
	if i.Held {
		r.State, r.Holder, r.Field, r.From, r.Count = "held", i.Holder.String(), i.Holder.Field, string(i.Holder.From), i.Count
		if i.TTL >= 0 {
			r.Lease = seconds(i.TTL)
		}
		if granted, known := since[[2]string{i.Holder.Field, i.Name}]; known {
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
		one := Waiter{Who: w.Party.String()}
		if !w.Since.IsZero() {
			one.Since = seconds(max(0, i.At.Sub(w.Since)))
		}
		r.Waiters = append(r.Waiters, one)
	}
	return r
}

func seconds(d time.Duration) *float64 {
	s := d.Round(time.Millisecond).Seconds()
	return &s
}

// Look asks for the locks of those names. With an error it returns the rows that it has by then.
func Look(ctx context.Context, c *reentrant.Client, names []string, since Grants) ([]Row, error) {
	rows := make([]Row, 0, len(names))
	for _, name := range names {
		info, err := c.Inspect(ctx, name)
		if err != nil {
			return rows, err
		}
		rows = append(rows, Of(info, since))
	}
	return rows, nil
}
