package lockstate

import (
	"flag"
	"testing"
	"time"
)

var deep = flag.Bool("deep", false, "TestInterleavings goes through more owners, faults and time, for minutes")

// TestInterleavings goes through all orders of events in small worlds, for each kind of hand-off: every
// answer, its loss before and after the command ran, calls that leave, losses, releases, nested calls,
// time and Close. See invariants_test.go for what must hold in each state.
func TestInterleavings(t *testing.T) {
	for mode, handoff := range map[string]Handoff{"never": Never, "confirmed": Confirmed, "write-behind": WriteBehind} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			all := small
			if *deep {
				all = large
			}
			began := time.Now()
			var sum explored
			for _, sc := range all {
				sc.cfg.Handoff, sc.cfg.Lease = handoff, testLease
				got := explore(t, &sc)
				t.Logf("%-45s %7d states, %7d transitions, %d deep", sc.name, got.states, got.transitions, got.depth)
				sum.states, sum.transitions = sum.states+got.states, sum.transitions+got.transitions
			}
			t.Logf("%-45s %7d states, %7d transitions in %v", "together", sum.states, sum.transitions, time.Since(began).Round(time.Millisecond))
		})
	}
}

// The callers of the scenarios.
var (
	a, b, c = plan{owner: "c:1", leaves: true}, plan{owner: "c:2", leaves: true}, plan{owner: "c:3", leaves: true}

	// Owner 1 in both modes.
	writes = plan{owner: "c:1", sibling: "c:1r", anyCall: true}
	reads  = plan{owner: "c:1r", sibling: "c:1", anyCall: true, mode: Shared}

	alsoA = plan{owner: "c:1", anyCall: true, leaves: true} // another goroutine of a's owner
)

func (p plan) stays() plan               { p.leaves = false; return p }
func (p plan) withFixed() plan           { p.fixed = true; return p }
func (p plan) asHandle() plan            { p.handle = true; return p }
func (p plan) nests() plan               { p.nested = 1; return p }
func (p plan) nestsFixed() plan          { p.nested, p.inner = 1, 2*testLease; return p }
func (p plan) shares() plan              { p.mode = Shared; return p }
func (p plan) joins() plan               { p.mode, p.common = Shared, true; return p }
func (p plan) joinsToo() plan            { p.common = true; return p }
func (p plan) twice() plan               { p.rounds = 2; return p }
func (p plan) turnsFixed() plan          { p.turns = true; return p }
func (p plan) once() plan                { p.single = true; return p }
func (p plan) then(d time.Duration) plan { p.after = d; return p }

// small is what each run of the tests goes through.
var small = []scenario{
	{name: "nested, time", calls: []plan{a.stays().nests(), b.stays()}, may: budgets{jumps: 1}},
	{name: "nested, fixed, time", calls: []plan{a.withFixed().stays().nests()}, may: budgets{faults: 1, jumps: 2}},
	{name: "nested, forgotten, a fault", calls: []plan{a.nests()}, may: budgets{faults: 1, jumps: 1, forces: 1}},
	{name: "two owners, a fault", calls: []plan{a, b}, may: budgets{faults: 1, retries: 1}},
	{name: "two owners, two faults", calls: []plan{a, b.stays()}, may: budgets{faults: 2, retries: 1}},
	{name: "three owners", calls: []plan{a, b, c}},
	{name: "three owners, a fault", calls: []plan{a.stays(), b, c.stays()}, may: budgets{faults: 1}},
	{name: "Close, a fault", calls: []plan{a, b.stays()}, may: budgets{faults: 1, closes: 1}},
	{name: "time, renewals", calls: []plan{a.stays(), b.stays()}, may: budgets{jumps: 1, renews: 1}},
	{name: "time, renewals, a fault", calls: []plan{a.stays()}, may: budgets{faults: 1, jumps: 2, renews: 1}},
	{name: "time, fixed, a fault", calls: []plan{a.withFixed()}, may: budgets{faults: 1, jumps: 2}},
	{name: "time, a fault", calls: []plan{a.stays(), b.stays()}, may: budgets{faults: 1, jumps: 1}},
	{name: "a renewal after the end, fixed anew", calls: []plan{a.stays().twice().turnsFixed()}, may: budgets{faults: 1, jumps: 2, renews: 1}},
	{name: "Redis forgets, again", calls: []plan{a.twice().stays(), b.stays()}, may: budgets{forces: 1, renews: 1}},
	{name: "another client, registered", calls: []plan{a, b.once()}, registers: true, may: budgets{faults: 1, others: 1}},
	{name: "a grant by a release", calls: []plan{a, b}, registers: true, may: budgets{others: 1}},
	{name: "a grant by a release, a fault", calls: []plan{a, b.stays()}, registers: true, may: budgets{faults: 1, others: 1}},
	{name: "a grant by a release, time", calls: []plan{a}, registers: true, may: budgets{jumps: 2, others: 1}},
	{name: "a grant by a release, renewed, forgotten", calls: []plan{a.stays()}, registers: true, may: budgets{jumps: 1, renews: 1, forces: 1, others: 1}},
	{name: "a grant by a release, Close", calls: []plan{a}, registers: true, may: budgets{faults: 1, others: 1, closes: 1}},
	{name: "replicas missing", cfg: Config{Replicas: 1}, calls: []plan{a, b}, may: budgets{faults: 1}},
	{name: "fixed inside renewed, a value", calls: []plan{a.asHandle().nestsFixed()}, may: budgets{faults: 1, jumps: 1, renews: 1}},
	{name: "maximum of a hold", cfg: Config{MaxHold: 20 * time.Second}, calls: []plan{a.stays().nests()}, may: budgets{jumps: 2, renews: 1}},
	{name: "maximum of a hold, two owners", cfg: Config{MaxHold: 20 * time.Second}, calls: []plan{a.stays(), b.stays()}, may: budgets{jumps: 1}},
	{name: "shared", calls: []plan{a.shares(), b.shares(), c}},
	{name: "shared, a fault", calls: []plan{a.shares().stays(), b.shares().stays(), c.stays()}, may: budgets{faults: 1}},
	{name: "shared, Close", calls: []plan{a.shares().stays(), b.shares().stays()}, may: budgets{closes: 1}},
	{name: "shared, again", calls: []plan{a.shares().twice(), b.shares()}, may: budgets{faults: 1}},
	{name: "a shared lease", calls: []plan{a.joins(), b.joins(), c.joins()}},
	{name: "a shared lease, again", calls: []plan{a.joins().twice(), b.joins().twice()}, may: budgets{moments: 1}},
	{name: "a shared lease, a fault", calls: []plan{a.joins(), b.joins().stays()}, may: budgets{faults: 1, moments: 1}},
	{name: "a shared lease, a fault, again", calls: []plan{a.joins().twice().stays(), b.joins()}, may: budgets{faults: 1, retries: 1}},
	{name: "a shared lease, a writer", calls: []plan{a.joins(), b.joins().stays(), c.stays()}, may: budgets{moments: 1}},
	{name: "a shared lease, a writer, a fault", calls: []plan{a.joins().stays(), b.joins().stays(), c.stays()}, may: budgets{faults: 1}},
	{name: "a shared lease, a writer elsewhere", calls: []plan{a.joins().stays(), b.joins()}, registers: true, may: budgets{moments: 2, bars: 1}},
	{name: "a shared lease, forgotten", calls: []plan{a.joins().stays(), b.joins().stays()}, may: budgets{moments: 1, forces: 1, renews: 1}},
	{name: "a shared lease, time", calls: []plan{a.joins().stays(), b.joins().stays()}, may: budgets{jumps: 2, renews: 1}},
	{name: "a shared lease, Close", calls: []plan{a.joins().stays(), b.joins().stays()}, may: budgets{closes: 1, moments: 1}},
	{name: "a shared lease, replicas missing", cfg: Config{Replicas: 1}, calls: []plan{a.joins(), b.joins()}, may: budgets{faults: 1}},
	{name: "a shared lease, values, fixed inside", calls: []plan{a.joins().asHandle().nestsFixed(), b.joins().stays()}, may: budgets{jumps: 1}},
	{name: "a shared lease, one owner, both modes", calls: []plan{writes, reads.joinsToo(), b.joins().stays()}, may: budgets{moments: 1}},
	{name: "one owner, both modes", calls: []plan{writes, reads}},
	{name: "one owner, both modes, a fault", calls: []plan{writes, reads}, may: budgets{faults: 1}},
	{name: "one owner, both modes, forgotten", calls: []plan{writes, reads}, may: budgets{forces: 1}},
	{name: "one owner, both modes, time", calls: []plan{writes.withFixed(), reads}, may: budgets{jumps: 1}},
	{name: "one owner, both modes, and another", calls: []plan{writes, reads, b.stays()}},
	{name: "one owner, both modes, and a reader", calls: []plan{writes, reads, b.shares().stays()}},
	{name: "one owner, two calls", calls: []plan{a.stays(), alsoA, b.stays()}},
	{name: "one owner, two calls, a fault", calls: []plan{a, alsoA}, may: budgets{faults: 1}},
	{name: "left to nobody", calls: []plan{a.stays().asHandle().then(time.Minute), b.stays()}, may: budgets{faults: 1, jumps: 1}},
}

// large is for -deep.
var large = []scenario{
	{name: "three owners, a fault", calls: []plan{a, b, c}, may: budgets{faults: 1}},
	{name: "three owners, two faults", calls: []plan{a, b.stays(), c.stays()}, may: budgets{faults: 2}},
	{name: "two owners, two faults", calls: []plan{a, b}, may: budgets{faults: 2, retries: 1}},
	{name: "three owners, Close, a fault", calls: []plan{a, b, c.stays()}, may: budgets{faults: 1, closes: 1}},
	{name: "time, renewals", calls: []plan{a, b}, may: budgets{jumps: 2, renews: 1}},
	{name: "time, a fault", calls: []plan{a.withFixed(), b.stays()}, may: budgets{faults: 1, jumps: 2, renews: 1}},
	{name: "a renewal after the end, fixed anew", calls: []plan{a.stays(), {owner: "c:1", fixed: true}}, may: budgets{faults: 1, jumps: 2, renews: 1}},
	{name: "fixed inside renewed, a value", calls: []plan{a.asHandle().nestsFixed()}, may: budgets{faults: 1, jumps: 2, renews: 1}},
	{name: "left to nobody", calls: []plan{a.asHandle().then(time.Minute), b}, may: budgets{faults: 1, jumps: 2}},
	{name: "maximum of a hold", cfg: Config{MaxHold: 20 * time.Second}, calls: []plan{a.stays().nests(), b.stays()}, may: budgets{jumps: 2, renews: 1}},
	{name: "Redis forgets, again, a fault", calls: []plan{a.twice(), b.stays()}, may: budgets{faults: 1, forces: 1, renews: 1}},
	{name: "another client, registered", calls: []plan{a, b}, registers: true, may: budgets{faults: 2, others: 1}},
	{name: "a grant by a release, time, a fault", calls: []plan{a}, registers: true, may: budgets{faults: 1, jumps: 2, others: 1}},
	{name: "nested", calls: []plan{a.nests(), b}, may: budgets{faults: 1, jumps: 1, forces: 1}},
	{name: "shared, a fault", calls: []plan{a.shares(), b.shares(), c}, may: budgets{faults: 1}},
	{name: "one owner, two calls", calls: []plan{a, alsoA, b.stays()}, may: budgets{faults: 1}},
}
