package lockstate

import (
	"slices"

	"github.com/redlatch/redlatch/watchdog"
)

// check looks for violations after each event.
func (w *world) check() {
	w.checkOwners()
	w.checkWatches()
	w.checkWaiters()
	w.checkShared()
	w.checkHolds()
	w.checkUnlocks()
	w.checkLosses()
	for _, o := range w.e.made {
		if wrong := holderOf(o).wrong; wrong != "" {
			w.fail("%s: %s", o.owner, wrong)
		}
		if over := holderOf(o).over; over != (o.state == Ended) || !over && holderOf(o).releasing != (o.state == Releasing) {
			w.fail("%s is not told of its state", o.owner)
		}
	}
	if w.quiet() {
		w.checkNothingLeft()
	}
}

// checkOwners: owners do not conflict, and what the State trusts is in Redis.
func (w *world) checkOwners() {
	for i, o := range w.s.owners {
		if o.state == Ended {
			w.fail("%s has ended, and is an owner", o.owner)
		}
		for _, other := range w.s.owners[:i] {
			// A Shared owner that is being released has nothing in Redis if an Exclusive one has been granted the lock.
			sure := o.mode == other.mode || o.state == Live && other.state == Live
			if sure && Conflicts(other.mode, o.mode) && !w.siblings(other.owner, o.owner) || other.owner == o.owner {
				w.fail("%s and %s have the lock", other.owner, o.owner)
			}
		}
		l := o.lease
		if o.state != Live || !l.ValidUntil().After(w.now) || watchOf(l).forced || w.abandoned {
			continue
		}
		has := func(owner string) bool { f := w.redis.field(owner); return f != nil && f.mode == o.mode }
		if !slices.ContainsFunc(l.field.owners(), has) {
			w.fail("%s trusts its lease, and Redis has none", o.owner)
		}
		for _, f := range w.redis.fields {
			if !l.field.standsFor(f.owner) && Conflicts(f.mode, o.mode) && !w.siblings(f.owner, o.owner) {
				w.fail("%s trusts its lease, and Redis has one of %s", o.owner, f.owner)
			}
		}
	}
}

// siblings reports whether two fields are of one owner, in two modes.
func (w *world) siblings(one, other string) bool {
	return slices.ContainsFunc(w.calls, func(c *call) bool {
		return c.owner == one && c.sibling == other || c.owner == other && c.sibling == one
	})
}

// checkWatches: a lease is watched exactly while an ownership of it is live.
func (w *world) checkWatches() {
	for _, l := range w.e.leases {
		o := w.s.HolderOf(l)
		if live := o != nil && o.state == Live; live != watchOf(l).watched {
			w.fail("a lease is live: %v, and watched: %v", live, !live)
		}
		if o != nil && o.state == Live {
			renew := slices.ContainsFunc(o.holds, func(k HoldKind) bool { return !k.Fixed })
			if s := watchOf(l).schedule; s != o.schedule(l.ValidUntil()) || s.Renew != renew {
				w.fail("%s has the schedule of another hold", o.owner)
			}
		}
	}
}

// checkWaiters: the first waiter leads if it can, nobody is granted a lease that is over or anything by a
// Client that closes, and no call is left asleep.
func (w *world) checkWaiters() {
	if x := w.s.waiting.first; x != nil && x.state == Queued && w.s.keptBy(&x.Request) == nil && !w.abandoned {
		w.fail("the first waiter does not lead")
	}
	for x := w.s.waiting.first; x != nil; x = x.next {
		if x.state == Leading && x != w.s.waiting.first {
			w.fail("a waiter leads that is not the first")
		}
		if x.state != Leading && x.state != Queued {
			w.fail("a waiter is in the queue that does not wait any more")
		}
	}
	for _, c := range w.calls {
		if c.phase != waiting || c.w.state == c.seen {
			continue
		}
		if c.seen = c.w.state; !c.note.notified {
			w.fail("%s is not notified", c.name)
		}
		c.note.notified = false
		if c.seen != Granted {
			continue
		}
		if watchdog.Left(c.w.ownership.ValidUntil(), w.now) <= 0 {
			w.fail("%s is granted a lease that is over", c.name)
		}
		if w.closing {
			w.fail("%s is granted the lock by a Client that closes", c.name)
		}
	}
}

// holders are the ownerships that callers have.
func (w *world) holders() (all []*Ownership) {
	for _, o := range w.s.owners {
		if !o.Root() {
			all = append(all, o)
		}
	}
	return append(all, w.s.Readers()...)
}

// checkShared: the readers of a shared lease are live, and their root is, and a root has a reader.
func (w *world) checkShared() {
	x := w.s.shared
	if x == nil {
		return
	}
	if slices.Index(w.s.owners, x.root) < 0 {
		w.fail("the shared lease is no owner's")
	}
	if x.root.state == Live && len(x.readers) == 0 {
		w.fail("the shared lease has no reader")
	}
	for _, o := range x.readers {
		if o.state != Live || x.root.state != Live {
			w.fail("%s has ended, or its lease, and it reads", o.owner)
		}
	}
}

// checkHolds: each value in a caller's hands is a hold of its ownership, and each such hold is one caller's. Holds
// in no caller's hands are counted by checkUnlocks.
func (w *world) checkHolds() {
	for _, o := range w.holders() {
		if o.state != Live || w.abandoned {
			continue
		}
		n := map[HoldKind]int{}
		for _, k := range o.holds {
			n[k]++
		}
		for _, c := range w.calls {
			c.holdsOf(o, func(k HoldKind) { n[k]-- })
		}
		for k, more := range n {
			if k.Handle && more != 0 {
				w.fail("%s has holds that no caller has, or the other way round", o.owner)
			}
		}
	}
}

// checkUnlocks: an owner is to unlock as often as its calls have locked, what it has lost included. An Unlock says
// for whom it comes and not which hold it ends, so the calls of one owner may end each other's holds.
func (w *world) checkUnlocks() {
	unlocks := map[string]int{}
	count := func(owner string, n int) func(HoldKind) {
		return func(k HoldKind) {
			if !k.Handle {
				unlocks[owner] += n
			}
		}
	}
	for _, o := range w.holders() {
		if o.state == Live {
			each(o.holds, count(o.owner, 1))
		}
	}
	for owner, l := range w.s.losses {
		each(l.holds, count(owner, 1))
		unlocks[owner] += l.earlier
	}
	for _, o := range w.e.made {
		for _, c := range w.calls {
			c.holdsOf(o, count(o.owner, -1))
		}
	}
	for owner, more := range unlocks {
		if more != 0 && !w.abandoned {
			w.fail("%s has %d holds more than its calls", owner, more)
		}
	}
}

// checkLosses: an owner owes a release for each value that it has lost, and no other.
func (w *world) checkLosses() {
	for _, c := range w.calls {
		owed := 0
		count := func(n int) func(HoldKind) {
			return func(k HoldKind) {
				if k.Handle {
					owed += n
				}
			}
		}
		if l := w.s.losses[c.owner]; l != nil {
			owed = l.handles
			each(l.holds, count(1))
		}
		for _, o := range w.e.made {
			if o.owner != c.owner || o.losses == nil {
				continue
			}
			for _, other := range w.calls {
				other.holdsOf(o, count(-1))
			}
		}
		if owed != 0 && !w.abandoned {
			w.fail("%s owes %d releases more than it has lost holds", c.owner, owed)
		}
	}
}

func each(holds []HoldKind, f func(HoldKind)) {
	for _, k := range holds {
		f(k)
	}
}

// holdsOf calls add for each hold that the caller has of an ownership, or is about to hear of.
func (c *call) holdsOf(o *Ownership, add func(HoldKind)) {
	for i, of := range c.of {
		if of == o {
			add(c.kindOf(i))
		}
	}
	if c.phase == waiting && c.w.state == Granted && c.w.ownership == o {
		add(c.w.HoldKind)
	}
	if c.phase == nested && c.into == Added && c.x.Of == o {
		add(c.x.Kind)
	}
}

// kindOf is the kind of the caller's hold at that place.
func (c *call) kindOf(i int) HoldKind {
	kind := c.kind
	kind.Fixed = kind.Fixed || i > 0 && c.inner > 0
	return kind
}

// quiet reports whether nothing happens any more but by the callers and the clock.
func (w *world) quiet() bool {
	return w.turn == nil && len(w.tasks) == 0 && !w.abandoned
}

// checkNothingLeft: without owners and waiters, Redis has no field of this Client, unless nobody can know.
func (w *world) checkNothingLeft() {
	if len(w.s.owners) == 0 && w.s.waiting.first == nil {
		for _, f := range w.redis.fields {
			if f.owner != "other" && f.owner != "nobody" && !w.bounded(&f) && !slices.Contains(w.givenUp, f.owner) && !w.dropped {
				w.fail("the field of %s is left in Redis", f.owner)
			}
		}
		if w.redis.registered && w.s.arrival == 0 && !w.dropped && len(w.limbo) == 0 {
			w.fail("the Client is left in the registry of waiters")
		}
	}
	for _, o := range w.s.owners {
		if o.state == Releasing {
			w.fail("%s is being released, and nobody does it", o.owner)
		}
		l := o.lease
		f := w.redis.field(o.owner)
		if o.state == Live && o.synced() && f != nil && f.count != len(o.holds) && !slices.Contains(w.givenUp, o.owner) && !w.dropped && !w.unknown {
			w.fail("the hold count of %s is %d in Redis, and it has %d", o.owner, f.count, len(o.holds))
		}
		if o.state == Live && !o.synced() && !w.closing && !watchOf(l).forced && l.ValidUntil().After(w.now) {
			w.fail("the field does not follow %s", o.owner)
		}
	}
}

// bounded reports whether the field ends with a fixed lease that ran out: then nobody frees it sooner.
func (w *world) bounded(f *modelField) bool {
	return slices.ContainsFunc(w.e.made, func(o *Ownership) bool {
		l := o.lease
		return o.state == Ended && holderOf(o).how == "lost, lease ended" && l.field.standsFor(f.owner) && !l.renewed && !l.reach.Before(f.expires)
	})
}

// checkGivenUp is for a background task whose time is over. A clean-up is tried for as long as Redis can have
// the field. A command that runs still later
// ends by its lease.
func (w *world) checkGivenUp(t *task) {
	owner := t.owner
	if t.kind == repairs {
		owner = t.o.owner
	}
	if !slices.Contains(w.givenUp, owner) {
		w.givenUp = append(w.givenUp, owner)
	}
	if t.kind == cleans && !w.othersCleanUp(t) {
		w.checkFieldOver(t)
	}
}

// othersCleanUp reports whether something else has seen to the owner's field, or will.
func (w *world) othersCleanUp(t *task) bool {
	another := func(other *task) bool { return other != t && other.kind == cleans && other.owner == t.owner }
	if slices.ContainsFunc(w.tasks, another) || w.turn != nil && another(w.turn) {
		return true
	}
	if f := w.flight; f != nil && f.ran && f.cmd.to == t.owner {
		return true // when it is settled
	}
	if slices.Contains(w.s.grantees, t.owner) {
		return true // the next attempt, or the leave: a release may have granted the owner the lock
	}
	return slices.ContainsFunc(w.calls, func(c *call) bool {
		return c.phase == waiting && c.owner == t.owner && c.w.unknownOutcome // when it leaves
	})
}

func (w *world) checkFieldOver(t *task) {
	if f := w.redis.field(t.owner); f != nil && !f.late && f.expires.After(t.until) && !w.s.StandsFor(t.owner) && t.to == nil {
		w.fail("the clean-up for %s ends before its field", t.owner)
	}
}

// stuck says what is not over when nothing can happen any more.
func (w *world) stuck() string {
	for _, c := range w.calls {
		if c.phase != gone && !w.abandoned {
			return c.name + " never ends"
		}
	}
	if len(w.s.owners) > 0 && !w.abandoned {
		return "an ownership never ends"
	}
	for _, o := range w.s.owners {
		if o.state == Live {
			return "a live ownership was not abandoned"
		}
	}
	return ""
}
