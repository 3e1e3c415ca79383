package lockstate

import (
	"slices"
	"time"
)

// task is what waits for the turn, and then sends one command or several.
type task struct {
	kind taskKind
	call *call
	// The waiter that an attempt is for, which may have left when it has its turn.
	waiter *Waiter
	o      *Ownership
	x      *Reentry
	lease  *Lease  // frees
	why    Refusal // why the lock is given back that its attempt was granted

	// Of a clean-up and its like.
	owner       string
	to          *Parting
	from, until time.Time
}

type taskKind int8

const (
	attempts taskKind = iota
	releases
	counts
	reenters
	repairs
	cleans
	frees // a fixed lease that is over
	ends  // of a reader's fixed leases
	leaves
	syncs
)

// background reports whether the engine tries the task again until its time is over.
func (k taskKind) background() bool { return k == repairs || k == cleans || k == leaves }

// flight is the command of the turn.
type flight struct {
	ask    func() (command, bool) // makes the command of each try; false: superseded
	then   func(*flight)
	step   string     // with these two, what then does
	o      *Ownership // that it ends
	to     *Waiter    // that is to have the lock
	cmd    command
	retry  bool // it may be tried again in its turn
	ran    bool
	forced bool // Redis has forgotten the lock since it ran
	reply  reply
	before bool      // an earlier try was not answered
	sent   time.Time // the first try that may have run

	failed, superseded bool
	missing            bool // replicas
}

// begin gives a task the turn.
func (w *world) begin(t *task) {
	w.tasks = slices.DeleteFunc(w.tasks, func(other *task) bool { return other == t })
	w.turn = t
	switch t.kind {
	case attempts:
		w.attempt(t.call, t.waiter)
	case releases:
		w.handOffOrFree(t.o, w.endTurn)
	case counts, repairs:
		w.sendCount(t)
	case reenters:
		w.reenter(t.call, t.x)
	case cleans:
		w.clean(t)
	case frees:
		w.s.FixedLeaseOver(t.lease, w.now)
		w.endTurn()
	case ends:
		w.s.FixedHoldsOver(t.o, w.now)
		w.endTurn()
	case leaves:
		w.leaveRegistry(t)
	case syncs:
		w.sync(nil, func(failed, superseded bool) {
			if w.s.Following() {
				w.tasks = append(w.tasks, t)
			}
			w.endTurn()
		})
	}
}

func (w *world) endTurn() { w.turn = nil }

// send sends a command in the turn, as the sequencer's repeat does.
func (w *world) send(f *flight) {
	if f.cmd.verb != acquire {
		w.s.CommandBegun(w.now)
	}
	w.try(f)
}

func (w *world) try(f *flight) {
	if f.ask != nil {
		cmd, ok := f.ask()
		if !ok {
			f.superseded = true
			w.settle(f)
			return
		}
		f.cmd = cmd
	}
	w.number++
	f.cmd.number, f.cmd.epoch = w.number, w.unknown
	w.expected = 0
	if f.cmd.registers {
		w.expected, w.askedAt = w.number, w.now
	}
	if f.sent.IsZero() {
		f.sent = w.now
	}
	f.ran, f.forced = false, false
	w.flight = f
}

// settle ends a command.
func (w *world) settle(f *flight) {
	w.flight = nil
	if f.cmd.verb != acquire {
		w.s.CommandEnded()
	}
	f.then(f)
}

// runs is when Redis executes the command.
func (w *world) runs() {
	f := w.flight
	f.ran, f.reply = true, w.redis.run(&f.cmd, w.now)
	w.prune()
}

// prune drops the commands that will have no effect any more.
func (w *world) prune() {
	w.limbo = slices.DeleteFunc(w.limbo, func(c command) bool { return c.verb != renew && c.number < w.redis.epoch })
}

// answered is when its answer comes.
func (w *world) answered(missing bool) {
	f := w.flight
	f.missing = missing
	if f.reply == stale {
		w.fail("the last command is stale")
	}
	w.s.CommandTried(true)
	w.unknown = w.unknown && !f.cmd.epoch
	w.settle(f)
}

// fails is when no answer comes. lost: the command may have run, or may still; otherwise it was not sent.
func (w *world) fails(lost, retry bool) {
	f := w.flight
	w.s.CommandTried(false)
	switch {
	case lost:
		w.unknown, f.before = true, true
		if !f.ran {
			w.limbo = append(w.limbo, f.cmd)
		}
	case !w.unknown:
		f.sent = time.Time{}
	}
	if retry {
		w.try(f)
		return
	}
	f.failed = true
	w.settle(f)
}

// attempt is reentrant's attempt.
func (w *world) attempt(c *call, x *Waiter) {
	if !w.s.BeginAttempt(x, w.now) {
		c.lostLead(x)
		w.endTurn()
		return
	}
	cmd := command{
		verb: acquire, to: x.Field(), mode: x.Mode, sibling: x.Sibling, lease: x.Lease, joins: w.s.Joins(x),
		registers: w.registers, departed: w.s.Grantees(x.Field()),
	}
	w.send(&flight{cmd: cmd, step: "attempt", then: func(f *flight) { w.attempted(c, x, f) }})
}

func (w *world) attempted(c *call, x *Waiter, f *flight) {
	switch {
	case f.failed:
		w.s.AttemptFailed(x, f.before, w.registers, w.now)
		w.endTurn()
		w.hear(c, x, Failure{Err: errModel})
	case f.reply == busy:
		w.s.FoundBusy(x, w.registers, 1)
		w.endTurn()
		if c.w == x {
			c.asks = false
			x.KnewBusy()
			if x.Single {
				w.leave(c)
			}
		}
	case f.reply == notHeld:
		if root := w.s.shared; root != nil && root.root.state == Live && !watchOf(root.root.lease).forced && root.root.ValidUntil().After(w.now) {
			w.fail("the shared lease is taken for lost")
		}
		w.s.NoSharedLease(x, w.now)
		w.endTurn()
		c.lostLead(x)
	default:
		for _, o := range w.s.Disprove(x, w.now) {
			if !watchOf(o.lease).forced {
				w.fail("%s is taken for lost", o.owner)
			}
		}
		o, refusal := w.s.Granted(x, w.grant(f), w.now)
		w.granted(f, o, refusal)
		if refusal == Accepted {
			w.endTurn()
			return
		}
		w.turn.why = refusal
		end := w.handOffOrFree
		if o == nil { // others have the shared lease, or nobody
			end = func(_ *Ownership, then func()) { then() }
		}
		end(o, func() {
			w.endTurn()
			if refusal == FewReplicas || refusal == TooLate {
				w.hear(c, x, Failure{Err: errModel, Final: refusal == FewReplicas, Late: refusal == TooLate, Alone: true})
			} else {
				c.lostLead(x)
			}
		})
	}
}

// lostLead is how a caller hears from its own attempt that it leads no more, or has to lead anew.
func (c *call) lostLead(x *Waiter) {
	if c.w != x {
		return
	}
	c.asks = false
	if x.state == Queued {
		c.seen = Queued
	}
}

// grantHeard is reentrant's takeGrant: the message of a release arrives.
func (w *world) grantHeard() {
	nonce, forgotten := w.published, w.forgotten
	w.published, w.forgotten = 0, false
	x := w.s.Waiting()
	if w.turn != nil || x == nil || w.expected == 0 || nonce != w.expected {
		return // a hint
	}
	w.expected = 0
	g := Grant{Sent: w.askedAt, Lease: claim}
	if w.now.Before(w.late) {
		g.Late = w.late
	}
	if o := w.s.GrantedByRelease(x, g, w.now); o != nil && forgotten {
		w.forced(o.lease)
	}
}

// hear is how a caller hears that its attempt failed.
func (w *world) hear(c *call, x *Waiter, f Failure) {
	if c.w != x {
		return // it has left
	}
	c.asks = false
	if x.State() == Leading && w.s.FailedAttempt(x, f, w.now) {
		w.leave(c)
	}
}

func (w *world) grant(f *flight) Grant {
	g := Grant{Sent: f.sent}
	if w.now.Before(w.late) {
		g.Late = w.late
	}
	if f.missing {
		g.Missing = errModel
	}
	return g
}

// granted looks at what the State made of an answer.
func (w *world) granted(f *flight, o *Ownership, refusal Refusal) {
	if f.missing && refusal == Accepted {
		w.fail("%s has the lock without its replicas", o.owner)
	}
	if f.forced && o != nil {
		w.forced(o.lease)
	}
}

// handOffOrFree is reentrant's: it ends an ownership that is being released, and goes on with what it has
// handed to nobody.
func (w *world) handOffOrFree(o *Ownership, then func()) {
	if x := w.s.Next(o, w.now); x != nil {
		w.transfer(o, x, then)
		return
	}
	w.free(o, then)
}

func (w *world) transfer(o *Ownership, x *Waiter, then func()) {
	from, _ := o.Lease().Field()
	cmd := command{verb: transfer, from: from, to: x.Owner, lease: x.Lease}
	w.send(&flight{cmd: cmd, step: "transfer", o: o, to: x, retry: true, then: func(f *flight) {
		switch {
		case f.failed && !f.before:
			w.free(o, then)
		case f.failed:
			w.s.TransferUnanswered(x, w.now)
			w.released(o, Unanswered, then)
		case f.reply == notHeld && !(f.before && w.now.Sub(f.sent) >= x.Lease):
			w.released(o, NotOurs, then)
		case f.reply == notHeld:
			w.released(o, Done, then)
		default:
			next, refusal := w.s.Transferred(o, x, w.grant(f), Elsewhere{}, w.now)
			w.granted(f, next, refusal)
			if refusal != Accepted {
				w.handOffOrFree(next, then)
				return
			}
			then()
		}
	}})
}

func (w *world) free(o *Ownership, then func()) {
	owner, next := o.Lease().Field()
	p := o.Lease().Parting()
	w.send(&flight{ask: w.freeing(owner, p), step: "free", o: o, retry: true, then: func(f *flight) {
		if f.failed || f.reply != notHeld || next == "" {
			w.released(o, f.answer(false), then)
			return
		}
		w.send(&flight{ask: w.freeing(next, p), step: stepIf(f.before, "free next, before", "free next"), o: o, retry: true, then: func(second *flight) {
			w.released(o, second.answer(f.before), then)
		}})
	}})
}

func stepIf(yes bool, then, otherwise string) string {
	if yes {
		return then
	}
	return otherwise
}

// freeing makes the command that frees an owner's field, or leaves it to nobody.
func (w *world) freeing(owner string, p *Parting) func() (command, bool) {
	return func() (command, bool) {
		if left := p.Left(w.now); left > 0 {
			return command{verb: linger, to: owner, lease: left}, true
		}
		return command{verb: release, to: owner}, true
	}
}

func (f *flight) answer(before bool) Answer {
	switch {
	case f.failed:
		return Unanswered
	case f.reply == notHeld && !before && !f.before:
		return NotOurs
	}
	return Done
}

func (w *world) released(o *Ownership, a Answer, then func()) {
	if lost := w.s.Released(o, a, w.now); lost && w.now.Before(o.ValidUntil()) && !watchOf(o.lease).forced {
		w.fail("the release of %s finds a loss that there was not", o.owner)
	}
	then()
}

// sync is reentrant's syncFieldNow.
func (w *world) sync(o *Ownership, then func(failed, superseded bool)) {
	next := w.s.NextSync(o, w.now)
	switch next.Step {
	case Superseded:
		then(false, true)
	case Synced:
		then(false, false)
	case SendOne:
		of := next.Owner
		w.send(&flight{cmd: command{verb: setCount, to: of.owner, count: 1}, step: "one", o: o, retry: true, then: func(f *flight) {
			switch {
			case f.failed:
				then(true, false)
			case f.reply == notHeld:
				w.s.Lose(of.lease, Overridden, w.now)
				then(false, true)
			default:
				of.CountIsOne()
				w.sync(o, then)
			}
		}})
	case SendMove:
		w.move(o, &next.Move, then)
	}
}

func (w *world) move(o *Ownership, m *Move, then func(failed, superseded bool)) {
	cmd := command{verb: transfer, from: m.From, to: m.To, lease: w.cfg.Lease}
	w.send(&flight{cmd: cmd, step: stepIf(m.Unknown, "move again", "move"), o: o, sent: m.Sent, retry: true, then: func(f *flight) {
		if !f.failed && f.reply == notHeld {
			w.s.Lose(m.Lease, Overridden, w.now)
			then(false, true)
			return
		}
		w.s.Moved(m, f.failed, f.before, Elsewhere{}, w.now)
		switch {
		case f.failed:
			then(true, false)
		case o == nil && !m.Unknown:
			then(false, false)
		default:
			w.sync(o, then)
		}
	}})
}

// sendCount is reentrant's sendCount, and its repairCount if that is the task.
func (w *world) sendCount(t *task) {
	o := t.o
	again := func() {
		if t.kind == repairs {
			w.again(t)
		} else {
			w.e.RepairCount(o)
		}
		w.endTurn()
	}
	w.sync(o, func(failed, superseded bool) {
		switch {
		case failed:
			again()
			return
		case superseded:
			w.endTurn()
			return
		}
		ask := func() (command, bool) {
			count, ok := w.s.SendCount(o)
			return command{verb: setCount, to: o.owner, count: count}, ok
		}
		w.send(&flight{ask: ask, step: "count", retry: true, then: func(f *flight) {
			switch {
			case f.failed:
				again()
				return
			case !f.superseded && f.reply == notHeld:
				w.s.Lose(o.lease, Overridden, w.now)
			}
			w.endTurn()
		}})
	})
}

// again puts a background task back. A Client that closes tries once.
func (w *world) again(t *task) {
	switch {
	case w.closing:
		w.dropped = true
	case t.until.After(w.now):
		w.tasks = append(w.tasks, t)
	default:
		w.checkGivenUp(t)
	}
}

// reenter is reentrant's reentry.run.
func (w *world) reenter(c *call, x *Reentry) {
	settle := func(failed, notOurs bool) {
		valid := w.now.Before(x.Of.ValidUntil())
		into := w.s.Settle(x, failed, notOurs, w.now)
		if into == Added && !valid {
			w.fail("the nested call of %s is granted after the validity", c.name)
		}
		if c.x == x {
			c.phase, c.into = nested, into
		}
		w.endTurn()
	}
	w.sync(x.Of, func(failed, superseded bool) {
		if failed || superseded {
			settle(failed, false)
			return
		}
		ask := func() (command, bool) {
			ok := x.Send(w.now)
			return command{verb: setCount, to: x.Of.owner, count: x.Count, lease: x.Ask}, ok
		}
		w.send(&flight{ask: ask, step: "reenter", retry: true, then: func(f *flight) {
			notOurs := !f.failed && !f.superseded && f.reply == notHeld
			if notOurs {
				w.s.Lose(x.Of.lease, Overridden, w.now)
			}
			settle(f.failed, notOurs)
		}})
	})
}

// clean is a clean-up.
func (w *world) clean(t *task) {
	if w.s.StandsFor(t.owner) {
		w.endTurn()
		return
	}
	w.send(&flight{ask: w.freeing(t.owner, t.to), step: "clean", retry: true, then: func(f *flight) {
		w.endTurn()
		if f.failed {
			w.again(t)
		}
	}})
}

func (w *world) leaveRegistry(t *task) {
	if !w.s.NeedsLeave() {
		w.endTurn()
		return
	}
	w.send(&flight{cmd: command{verb: leaveRegistry, departed: w.s.Grantees("")}, step: "leave", then: func(f *flight) {
		if f.failed {
			w.again(t)
		} else {
			w.s.Left()
		}
		w.endTurn()
	}})
}
