package lockstate

import (
	"fmt"
	"time"
)

// event is one thing that happens to a world. i says to which call, task, owner or command.
type event struct {
	kind eventKind
	i    int
}

type eventKind int8

const (
	enters eventKind = iota
	takes
	callLeaves
	leavesAtLimit // a nested call
	unlocks
	beginsTask
	runsAndAnswered // at once
	runsAndLost
	runsAndLostRetried
	commandRuns
	commandAnswered
	commandAnsweredMissing
	commandLost
	commandLostRetried
	commandRefused
	commandRefusedRetried
	runsLate
	renewed1 // a renewal: confirmed
	renewedUnanswered
	renewedLate
	reported
	timeGoesOn
	partOfLease
	aMoment
	bars
	barEnds
	redisForgets
	otherTakes
	otherReleases
	grantHeard
	grantUnheard
	closes
	abandons
	noMore // goes wrong from now on
)

var eventNames = [...]string{
	"enter", "take", "leave", "leave at the limit", "unlock", "begin task", "run and answered", "run and answer lost", "run and answer lost, retried", "Redis runs the command", "answered", "answered, replicas missing",
	"answer lost", "answer lost, retried", "not sent", "not sent, retried", "runs late", "renewed", "renewed, unanswered", "renewal runs later",
	"loss reported", "time to the next end", "21s pass", "15ms pass", "another client's writer waits", "it waits no more", "Redis forgets", "another client takes", "another client releases", "grant heard", "grant lost", "close", "abandon", "nothing more goes wrong",
}

func (e event) String() string { return fmt.Sprintf("%s %d", eventNames[e.kind], e.i) }

// events lists all that may happen next.
func (w *world) events() (all []event) {
	if w.abandoned {
		return nil
	}
	add := func(kind eventKind, i int) { all = append(all, event{kind, i}) }
	for i, c := range w.calls {
		w.eventsOf(c, func(kind eventKind) { add(kind, i) })
	}
	if w.turn == nil {
		for i, t := range w.tasks {
			if !t.from.After(w.now) {
				add(beginsTask, i)
			}
		}
	} else {
		w.eventsOfCommand(func(kind eventKind) { add(kind, 0) })
	}
	for i := range w.limbo {
		add(runsLate, i)
	}
	for i, o := range w.s.owners {
		w.eventsOfWatch(watchOf(o.lease), func(kind eventKind) { add(kind, i) })
	}
	w.eventsAround(func(kind eventKind) { add(kind, 0) })
	return all
}

func (w *world) eventsOf(c *call, add func(eventKind)) {
	leaves := c.leaves || w.closing
	switch c.phase {
	case outside:
		add(enters)
	case waiting:
		if s := c.w.State(); s != Queued && s != Leading {
			add(takes)
		}
		if leaves {
			add(callLeaves)
		}
	case inside:
		add(unlocks)
		if c.took > 0 && c.took <= c.nested && !c.quit {
			add(enters)
		}
	case nested:
		add(takes)
		if leaves {
			add(callLeaves)
		}
	case nesting:
		if leaves {
			add(callLeaves)
			add(leavesAtLimit)
		}
	}
}

func (w *world) eventsOfCommand(add func(eventKind)) {
	f := w.flight
	faults := w.left.faults > 0
	retries := faults && f.retry && w.left.retries > 0
	if !f.ran && w.calm() {
		// When it runs between these two makes no difference.
		add(runsAndAnswered)
		if faults {
			add(runsAndLost)
			add(commandLost)
			add(commandRefused)
		}
		if retries {
			add(runsAndLostRetried)
			add(commandLostRetried)
			add(commandRefusedRetried)
		}
		return
	}
	if f.ran {
		add(commandAnswered)
		if gives := f.cmd.verb == acquire || f.step == "transfer"; faults && gives && w.cfg.Replicas > 0 && f.reply == done {
			add(commandAnsweredMissing)
		}
	} else {
		add(commandRuns)
		if faults {
			add(commandRefused)
		}
		if retries {
			add(commandRefusedRetried)
		}
	}
	if faults {
		add(commandLost)
	}
	if retries {
		add(commandLostRetried)
	}
}

// calm reports whether only the turn changes Redis, and time stands still.
func (w *world) calm() bool {
	l := &w.left
	return w.published == 0 && l.jumps+l.forces+l.others+l.renews+len(w.limbo)+w.cfg.Replicas == 0
}

func (w *world) eventsOfWatch(x *fakeWatch, add func(eventKind)) {
	if !x.watched {
		return
	}
	if !x.schedule.ValidUntil.After(w.now) {
		add(reported)
		return
	}
	until := x.schedule.RenewUntil
	if w.left.renews == 0 || !x.schedule.Renew || !until.IsZero() && !until.After(w.now) {
		return
	}
	add(renewed1)
	if w.left.faults > 0 {
		add(renewedUnanswered)
		add(renewedLate)
	}
}

func (w *world) eventsAround(add func(eventKind)) {
	if w.left.jumps > 0 {
		if !w.nextEnd().IsZero() {
			add(timeGoesOn)
		}
		add(partOfLease)
	}
	if w.left.moments > 0 {
		add(aMoment)
	}
	if w.redis.barred {
		add(barEnds)
	} else if w.left.bars > 0 {
		add(bars)
	}
	if w.left.forces > 0 && len(w.redis.fields) > 0 {
		add(redisForgets)
	}
	if w.redis.field("other") != nil {
		add(otherReleases)
	} else if w.left.others > 0 && len(w.redis.fields) == 0 {
		add(otherTakes)
	}
	if w.published != 0 {
		add(grantHeard)
		if w.left.faults > 0 {
			add(grantUnheard)
		}
	}
	if w.left.closes > 0 {
		add(closes)
	}
	if w.closing {
		add(abandons)
	}
}

// happen carries an event out, and what follows at once.
func (w *world) happen(e event) {
	switch e.kind {
	case enters, takes, callLeaves, leavesAtLimit, unlocks:
		w.happenCall(e.kind, w.calls[e.i])
	case beginsTask:
		w.begin(w.tasks[e.i])
	case runsAndAnswered, runsAndLost, runsAndLostRetried, commandRuns, commandAnswered, commandAnsweredMissing,
		commandLost, commandLostRetried, commandRefused, commandRefusedRetried:
		w.happenCommand(e.kind)
	case runsLate:
		c := w.limbo[e.i]
		w.limbo = append(w.limbo[:e.i:e.i], w.limbo[e.i+1:]...)
		c.late = true
		w.redis.run(&c, w.now)
		w.prune()
	case renewed1, renewedUnanswered, renewedLate, reported:
		w.happenWatch(e.kind, w.s.owners[e.i].lease)
	default:
		w.happenAround(e.kind)
	}
	w.follow()
	if w.replaying {
		w.checkWaiters() // it notes what they know
	} else {
		w.check()
	}
	if w.takeAtOnce() {
		w.follow()
	}
}

// takeAtOnce has each caller that cannot leave any more hear of the end of its wait.
func (w *world) takeAtOnce() (taken bool) {
	for _, c := range w.calls {
		switch {
		case c.leaves || w.closing || w.left.closes > 0:
		case c.phase == nested:
			w.takeNested(c)
			taken = true
		case c.phase == waiting && c.w.State() != Queued && c.w.State() != Leading:
			w.take(c)
			taken = true
		}
	}
	return taken
}

func (w *world) happenCall(kind eventKind, c *call) {
	switch {
	case kind == enters:
		w.enter(c)
	case kind == unlocks:
		w.unlock(c)
	case kind == takes && c.phase == nested:
		w.takeNested(c)
	case kind == takes:
		w.take(c)
	case c.phase == waiting:
		w.leave(c)
	default:
		w.leaveNested(c, kind == leavesAtLimit)
	}
}

func (w *world) happenCommand(kind eventKind) {
	switch kind {
	case runsAndAnswered, runsAndLost, runsAndLostRetried:
		w.runs()
		kind = map[eventKind]eventKind{runsAndAnswered: commandAnswered, runsAndLost: commandLost, runsAndLostRetried: commandLostRetried}[kind]
	}
	if kind > commandAnswered {
		w.left.faults--
	}
	switch kind {
	case commandRuns:
		w.runs()
	case commandAnswered, commandAnsweredMissing:
		w.answered(kind == commandAnsweredMissing)
	case commandLostRetried, commandRefusedRetried:
		w.left.retries--
		w.fails(kind == commandLostRetried, true)
	default:
		w.fails(kind == commandLost, false)
	}
}

func (w *world) happenWatch(kind eventKind, l *Lease) {
	x := watchOf(l)
	if kind == reported {
		w.s.Lose(l, LeaseEnded, w.now)
		return
	}
	w.left.renews--
	c := command{verb: renew, to: l.field.owner, lease: w.cfg.Lease}
	if l.field.moving() && w.redis.field(l.field.next) != nil {
		c.to = l.field.next
	}
	switch kind {
	case renewedLate:
		w.left.faults--
		w.limbo = append(w.limbo, c)
		x.renewal = true
	case renewedUnanswered:
		w.left.faults--
		w.redis.run(&c, w.now)
		x.renewal = true
	default:
		x.renewal = false
		if w.redis.run(&c, w.now) == notHeld {
			w.s.Lose(l, Overridden, w.now)
		} else {
			x.renewed(w.now, w.cfg.Lease)
		}
	}
}

func (w *world) happenAround(kind eventKind) {
	switch kind {
	case timeGoesOn:
		w.left.jumps--
		w.goOn(0)
	case partOfLease:
		w.left.jumps--
		w.goOn(21 * time.Second)
	case aMoment:
		w.left.moments--
		w.goOn(15 * time.Millisecond)
	case bars:
		w.left.bars--
		w.redis.barred = true
	case barEnds:
		w.redis.barred = false
	case redisForgets:
		w.left.forces--
		w.forgotten = true
		w.forget()
	case otherTakes:
		w.left.others--
		w.redis.fields = append(w.redis.fields, modelField{"other", Exclusive, 1, w.now.Add(time.Hour), false})
	case otherReleases:
		w.published, w.forgotten = w.redis.releaseOther(w.now), false
	case grantHeard:
		w.grantHeard()
	case grantUnheard:
		w.left.faults--
		w.published, w.forgotten = 0, false
	case closes:
		w.left.closes--
		w.closing = true
		w.s.Close()
	case noMore:
		w.left = budgets{jumps: 1000} // what is left in Redis ends with its lease
	case abandons:
		w.abandoned = true
		w.s.Abandon(w.now)
	}
}

// follow turns what the State has asked for into tasks.
func (w *world) follow() {
	e := &w.e
	for _, c := range e.cleanUps {
		w.tasks = append(w.tasks, &task{kind: cleans, owner: c.owner, to: c.to, until: c.until})
	}
	for _, f := range e.freeAts {
		w.tasks = append(w.tasks, &task{kind: frees, lease: f.lease, from: f.at, until: f.until})
	}
	for _, o := range e.repairs {
		w.tasks = append(w.tasks, &task{kind: repairs, o: o, until: w.now.Add(w.cfg.Lease)})
	}
	for _, end := range e.endAts {
		w.tasks = append(w.tasks, &task{kind: ends, o: end.o, from: end.at, until: end.at.Add(w.cfg.Lease)})
	}
	if e.leave && !w.pending(leaves) {
		w.tasks = append(w.tasks, &task{kind: leaves, until: w.now.Add(time.Hour)})
	}
	if e.sync && !w.pending(syncs) {
		w.tasks = append(w.tasks, &task{kind: syncs})
	}
	e.cleanUps, e.freeAts, e.repairs, e.endAts, e.leave, e.sync = nil, nil, nil, nil, false, false
	for _, c := range w.calls {
		if c.phase == waiting && c.w.State() == Leading && !c.asks {
			c.asks = true
			w.tasks = append(w.tasks, &task{kind: attempts, call: c, waiter: c.w})
		}
	}
	for _, l := range e.leases {
		if x := watchOf(l); !x.watched && x.renewal {
			x.renewal, w.late = false, w.now.Add(time.Minute)
		}
	}
}

// pending reports whether a task of that kind waits for the turn, or has it.
func (w *world) pending(kind taskKind) bool {
	for _, t := range w.tasks {
		if t.kind == kind {
			return true
		}
	}
	return w.turn != nil && w.turn.kind == kind
}
