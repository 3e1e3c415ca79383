package oracle

import (
	"cmp"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/redlatch/redlatch/internal/history"
)

// Verdict is what [Linearizable] has found, by lock.
type Verdict struct {
	Checked   int // operations
	Undecided int // locks for which the time ran out
}

// Linearizable has porcupine look, for each lock, for an order of its operations that one
// lock could have answered so. A loss counts only where [Losses] finds it explained. highest
// has the tokens issued before this history, as Tokens takes it; call this first.
func Linearizable(h history.History, highest map[string]int64, limit time.Duration) (v Verdict, found []Violation) {
	inOrder(steps(h, false), func(lock string, ops []porcupine.Operation) {
		v.Checked += len(ops)
		switch porcupine.CheckOperationsTimeout(modelOf(ops, highest[lock]), ops, limit) {
		case porcupine.Illegal:
			found = append(found, violated("porcupine", lock, "no order of its %d operations explains their outcomes", len(ops)))
		case porcupine.Unknown:
			v.Undecided++
		}
	})
	return v, found
}

// steps turns a history into porcupine's operations, by lock and in the order of their
// calls; vain says whether with the calls that got nothing. Those decide nothing: a refusal
// may come at any time, and an acquisition whose outcome is unknown may as well not have
// run. But they are open to the end, and would make a search that has to fail endless.
func steps(h history.History, vain bool) map[string][]porcupine.Operation {
	c := converter{clients: make(map[string]int), byLock: make(map[string][]porcupine.Operation)}
	for _, op := range h.Ops {
		c.name(op.Owner) // lanes in the order of appearance
	}
	for _, op := range h.Ops {
		switch {
		case !vain || op.Kind != history.Acquire || op.Outcome == history.OK:
		case op.Outcome == history.Refused:
			c.add(op.Lock, op.Owner, op.Call, op.Return, step{does: isRefused, owner: op.Owner})
		default:
			c.add(op.Lock, op.Owner, op.Call, history.Never, step{does: mayTake, owner: op.Owner, note: op.Note})
		}
	}
	for lock, list := range holds(h.Ops) {
		c.grants = c.grants[:0]
		for _, x := range list {
			c.grants = append(c.grants, x.from)
		}
		longest := longestLease(list)
		for _, x := range list {
			c.hold(lock, x, h.Faults, longest)
		}
	}
	for lock := range c.byLock {
		for _, f := range h.Faults {
			if forgets(f, lock) {
				c.add(lock, f.Kind, f.Start, f.End, step{does: doesForget, note: f.Kind})
			}
		}
		slices.SortFunc(c.byLock[lock], func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	}
	return c.byLock
}

type converter struct {
	clients map[string]int
	byLock  map[string][]porcupine.Operation
	grants  []history.Instant // of the lock at hand, in order
}

// name gives each owner a lane of its own.
func (c *converter) name(owner string) int {
	n, known := c.clients[owner]
	if !known {
		n = len(c.clients)
		c.clients[owner] = n
	}
	return n
}

func (c *converter) add(lock, owner string, call, back history.Instant, x step) {
	c.byLock[lock] = append(c.byLock[lock], porcupine.Operation{
		ClientId: c.name(owner), Input: x, Call: int64(call), Return: min(int64(back), endOfTime),
	})
}

// hold adds the grant of a hold and its end.
func (c *converter) hold(lock string, x *hold, faults []history.Fault, longest time.Duration) {
	inherits := slices.ContainsFunc(faults, func(f history.Fault) bool { return forgets(f, lock) && inherited(f, x, longest) })
	c.add(lock, x.owner, x.call, x.from, step{does: takes, hold: x.id, owner: x.owner, token: x.token, side: x.side, inherits: inherits})
	end := step{hold: x.id, owner: x.owner, side: x.side}
	if at, lost := x.lossSeen(); lost {
		if explained(faults, x, at, longest) {
			end.does = mayLose
			c.openEnd(lock, x, min(x.until, at), end)
		}
		return
	}
	switch r := x.released; {
	case r == nil:
	case r.Outcome == history.OK:
		end.does = frees
		c.add(lock, x.owner, r.Call, r.Return, end)
	case r.Outcome == history.Closed: // and not renewed since the Client was closed
		end.does, end.note = mayFree, r.Note
		c.openEnd(lock, x, x.until, end)
	default:
		end.does, end.note = mayFree, r.Note
		c.openEnd(lock, x, r.Call, end)
	}
}

// openEnd adds the end of a hold that Redis has not confirmed: it may come at any time from
// call on. It need not be looked for after the next grant has returned: if it came before
// that it had its effect, and if not it may as well never come, for nobody counts on the
// lock any more.
//
// A read ends as soon as it may, once it was granted: what is legal while it goes on, is so without it. Otherwise a
// search would try each of many reads at each of many instants.
func (c *converter) openEnd(lock string, h *hold, call history.Instant, x step) {
	if h.side == history.Reading {
		c.add(lock, h.owner, call, max(call, h.from), x)
		return
	}
	back := history.Never
	if i, _ := slices.BinarySearch(c.grants, call+1); i < len(c.grants) {
		back = c.grants[i]
	}
	c.add(lock, h.owner, call, back, x)
}
