package tracecheck

import (
	"context"
	"fmt"
	"strings"
)

// Refusal is a trace that is no behaviour of the model, or in which a claim is violated.
type Refusal struct {
	Trace    *Trace
	Entry    int    // the first that the model cannot follow, from 0
	Violated string // the claim; empty: the model cannot do what the entry says
	State    string // of the model there, if Explain was asked for it
}

// shown is how many entries a refusal shows before the one that is refused.
const shown = 8

func (r *Refusal) Error() string {
	var text strings.Builder
	if r.Violated != "" {
		fmt.Fprintf(&text, "%s: claim %s is violated before entry %d of %d:\n", r.Trace.Name, r.Violated, r.Entry, len(r.Trace.Entries))
	} else {
		fmt.Fprintf(&text, "%s: the model follows up to entry %d of %d, and cannot do that one:\n", r.Trace.Name, r.Entry, len(r.Trace.Entries))
	}
	n := newNames(r.Trace.Entries)
	for i := max(0, r.Entry-shown); i <= min(r.Entry, len(r.Trace.Entries)-1); i++ {
		fmt.Fprintf(&text, "%5d %s\n", i, n.entry(&r.Trace.Entries[i], i))
	}
	if r.Entry < len(r.Trace.Entries) {
		fmt.Fprintf(&text, "which called %q\n", r.Trace.Entries[r.Entry].Run.Calls)
	}
	if r.State != "" {
		fmt.Fprintf(&text, "the model's state there, or one of several:\n%s", r.State)
	}
	return text.String()
}

// Check asks TLC which traces are no behaviours of the model.
func (m *Model) Check(ctx context.Context, traces ...*Trace) (refused []*Refusal, err error) {
	found, err := m.explore(ctx, traces, false)
	if err != nil {
		return nil, err
	}
	for i, p := range found {
		if p.violated != "" || p.reached <= len(traces[i].Entries) {
			refused = append(refused, &Refusal{Trace: traces[i], Entry: p.reached - 1, Violated: p.violated})
		}
	}
	return refused, nil
}

// Explain has TLC follow a refused trace again, for the state in which the model is stuck.
func (m *Model) Explain(ctx context.Context, r *Refusal) error {
	found, err := m.explore(ctx, []*Trace{r.Trace}, true)
	if err != nil {
		return err
	}
	r.State = found[0].state
	return nil
}
