package lockstate

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestModel walks at random through worlds that are too large for all orders of events: up to six callers, of
// fewer owners, with nested holds, fixed leases, values, rounds, and more that goes wrong.
func TestModel(t *testing.T) {
	for _, handoff := range []Handoff{Never, Confirmed, WriteBehind} {
		for part := range 4 { // rapid walks a hundred times in each
			t.Run(fmt.Sprintf("%d/%d", handoff, part), func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(t *rapid.T) { walk(t, drawScenario(t, handoff)) })
			})
		}
	}
}

func drawScenario(t *rapid.T, handoff Handoff) *scenario {
	sc := &scenario{cfg: Config{Lease: testLease, Handoff: handoff}}
	yes := func(label string, of int) bool { return rapid.IntRange(0, of-1).Draw(t, label) == of-1 }
	if yes("maximum", 3) {
		sc.cfg.MaxHold = 50 * time.Second
	}
	if yes("replicas", 4) {
		sc.cfg.Replicas = 1
	}
	sc.registers = yes("registers", 2)
	shares := yes("shared", 3)
	common := shares && sc.cfg.MaxHold == 0 && yes("a lease in common", 2)
	n := rapid.IntRange(2, 6).Draw(t, "callers")
	for i := range n {
		owner := rapid.IntRange(1, n).Draw(t, "owner")
		p := plan{
			owner: fmt.Sprint("c:", owner), anyCall: owner != i+1, leaves: yes("leaves", 2), nested: rapid.IntRange(0, 2).Draw(t, "nested"),
			rounds: rapid.IntRange(1, 3).Draw(t, "rounds"), handle: yes("value", 3), single: yes("single", 6), fencing: yes("fencing", 6),
			fixed: yes("fixed", 4), turns: yes("then fixed", 4),
		}
		if shares && owner%2 == 0 {
			p.mode, p.common = Shared, common
		}
		if yes("inner", 3) {
			p.inner = 2 * testLease
		}
		sc.calls = append(sc.calls, p)
	}
	oneUnlockFitsAll(sc)
	draw := func(label string, most int) int { return rapid.IntRange(0, most).Draw(t, label) }
	sc.may = budgets{
		faults: draw("faults", 6), retries: draw("retries", 3), jumps: draw("jumps", 6), renews: draw("renewals", 4),
		forces: draw("forces", 2), others: draw("others", 2), closes: draw("closes", 1), moments: draw("moments", 4), bars: draw("bars", 2),
	}
	return sc
}

// oneUnlockFitsAll leaves fixed leases to owners of one call. An owner whose fixed lease has run out may take the
// lock anew; an Unlock for the hold that it has lost then ends the new one. Which of its calls has lost what cannot
// be told.
func oneUnlockFitsAll(sc *scenario) {
	calls := map[string]int{}
	for _, p := range sc.calls {
		calls[p.owner]++
	}
	for i := range sc.calls {
		if p := &sc.calls[i]; calls[p.owner] > 1 {
			p.fixed, p.turns, p.inner = false, false, 0
		}
	}
}

// walk lets things happen at random, and then only what brings the callers to their end.
func walk(t *rapid.T, sc *scenario) {
	w := newWorld(sc)
	var path []event
	for step := range 2000 {
		events := w.events()
		if step == 300 {
			events = []event{{kind: noMore}}
		}
		if len(events) == 0 {
			if stuck := w.stuck(); stuck != "" {
				t.Fatalf("%s\n%s", stuck, tell(sc, path))
			}
			return
		}
		e := events[rapid.IntRange(0, len(events)-1).Draw(t, "event")]
		path = append(path, e)
		if w.happen(e); w.wrong != "" {
			t.Fatalf("%s\n%+v\n%s", w.wrong, sc.calls, tell(sc, path))
		}
	}
	t.Fatalf("no end after 2000 events\n%s", tell(sc, path))
}
