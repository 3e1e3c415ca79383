package lockstate

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// plan is what one caller does: it enters, perhaps once more, and releases as often.
type plan struct {
	owner   string
	anyCall bool
	mode    Mode
	sibling string
	common  bool // it shares a lease with others
	fixed   bool
	handle  bool          // its holds are values in its hands
	nested  int           // how many holds it takes inside the first
	inner   time.Duration // the fixed lease of the nested holds; 0: as the first
	rounds  int           // how often it does all that; 0: once
	turns   bool          // its holds have a fixed lease after the first round
	single  bool
	leaves  bool // it may leave before it has what it wants
	fencing bool
	after   time.Duration // it releases its only hold so
}

// world is one lock of one Client, its callers, the engine's turn and Redis. It has no goroutines: each
// step is an event that happens at once, and everything that may happen next is in a list (events.go).
type world struct {
	clock
	*scenario
	s     State
	e     fakeEngine
	redis modelRedis
	calls []*call

	tasks   []*task // wait for the turn
	turn    *task   // has it
	flight  *flight // the turn's command
	number  int     // of the last command
	unknown bool    // a command was not answered, and no epoch set since
	limbo   []command

	expected  int       // the nonce of the last command; 0: no grant is expected
	askedAt   time.Time // when that was sent
	published int       // a grant's nonce on its way; 0: none
	forgotten bool      // Redis has forgotten the lock since

	left      budgets
	late      time.Time // until when a renewal of an earlier lease may run
	closing   bool
	abandoned bool
	dropped   bool     // a clean-up was given up, as the Client closes
	replaying bool     // what happens was checked before
	givenUp   []string // whose clean-up was tried until its time was over
	wrong     string   // the first violation
}

// scenario is what a world begins with, and what may go wrong in it.
type scenario struct {
	name      string
	cfg       Config
	calls     []plan
	may       budgets
	registers bool // attempts put the Client into the registry of waiters
}

// budgets bound what may happen, each as often as it says.
type budgets struct {
	faults  int // answers lost, commands refused, replicas missing
	retries int // of a command in its turn, after a fault
	jumps   int // the clock goes on
	renews  int
	forces  int // Redis forgets the lock
	moments int // so much time passes that Redis' last word is old
	bars    int // a writer of another client waits
	others  int // another client takes the lock
	closes  int
}

// call is one caller.
type call struct {
	plan
	name string
	phase
	kind HoldKind
	w    *Waiter
	x    *Reentry
	into Entered      // what became of x
	of   []*Ownership // of each hold that it has and has not released
	took int          // holds taken in this round
	seen WaiterState
	note *fakeCall
	asks bool // its attempt has or awaits the turn
	quit bool // in this round it only releases what it has
}

// phase is where a caller stands.
type phase int8

const (
	outside phase = iota // before a round
	waiting              // in the wait queue
	inside               // it has holds
	nesting              // its nested call is under way
	nested               // its nested call has an answer, which it has not seen
	gone                 // it does nothing any more
)

func newWorld(sc *scenario) *world {
	w := &world{clock: clock{now: start}, scenario: sc, left: sc.may}
	w.e = fakeEngine{clock: &w.clock, did: mute}
	w.s.Init(&sc.cfg, &w.e, false)
	for i, p := range sc.calls {
		c := &call{plan: p, name: string(rune('a' + i)), kind: HoldKind{Fixed: p.fixed, Handle: p.handle}}
		c.rounds = max(1, c.rounds)
		w.calls = append(w.calls, c)
	}
	return w
}

func (w *world) fail(format string, args ...any) {
	if w.wrong == "" {
		w.wrong = fmt.Sprintf(format, args...)
	}
}

var errModel = errors.New("no answer")

// request is what the caller asks for now.
func (c *call) request(w *world, kind HoldKind) Request {
	r := Request{
		Owner: c.owner, AnyCall: c.anyCall, Mode: c.mode, Sibling: c.sibling, HoldKind: kind,
		Fencing: c.fencing, Lease: w.cfg.Lease, Single: c.single, Began: w.now,
	}
	if c.common && !kind.Fixed {
		r.SharedField = commonField
	}
	if kind.Fixed {
		r.Lease = fixedLease
		if len(c.of) > 0 && c.inner > 0 {
			r.Lease = c.inner
		}
	}
	return r
}

// enter is the caller's next Lock, or Acquire.
func (w *world) enter(c *call) {
	kind := c.kind
	if len(c.of) > 0 && c.inner > 0 {
		kind.Fixed = true
	}
	r := c.request(w, kind)
	switch e := w.s.Enter(&r, nil, w.now); e.Kind {
	case Wait:
		if len(c.of) > 0 && !c.kind.Fixed && c.inner == 0 {
			w.fail("%s waits for a lock of which it may believe that it holds it", c.name)
		}
		c.phase, c.seen, c.note = waiting, Queued, &fakeCall{did: muteOne}
		c.w = &Waiter{Request: r, Call: c.note}
		w.s.Enqueue(c.w)
		if _, busy := w.s.Ahead(r.Mode); busy && c.w.State() != Leading {
			c.w.KnewBusy()
		}
	case Reenter:
		c.phase = nesting
		c.x = &Reentry{Of: e.Of, Kind: kind, Lease: r.Lease}
		w.tasks = append(w.tasks, &task{kind: reenters, call: c, x: c.x})
	case Admitted, Nests:
		w.has(c, e.Of)
	case Owed:
		c.ends()
	default: // busy, an upgrade, or the Client closes
		c.ends()
	}
}

// ends is the end of a Lock that got nothing.
func (c *call) ends() {
	c.w, c.x, c.asks = nil, nil, false
	c.quit = true
	if c.phase = inside; len(c.of) == 0 {
		c.over()
	}
}

// over ends a round.
func (c *call) over() {
	c.took, c.quit = 0, false
	if c.rounds--; c.rounds > 0 {
		c.phase, c.kind.Fixed = outside, c.kind.Fixed || c.turns
		return
	}
	c.phase = gone
}

// take is how a caller hears of the grant, or of another end of its wait.
func (w *world) take(c *call) {
	switch c.w.State() {
	case Granted:
		w.has(c, c.w.Ownership())
	case Rejoined:
		c.w, c.asks = nil, false
		w.enter(c)
	case Refused:
		c.ends()
	}
}

// has gives the caller a hold of an ownership.
func (w *world) has(c *call, o *Ownership) {
	c.w, c.x, c.asks = nil, nil, false
	c.of, c.phase = append(c.of, o), inside
	c.took++
}

// leave is the end of the caller's patience, its ctx or its Client: reentrant's giveUp.
func (w *world) leave(c *call) {
	x := c.w
	switch x.State() {
	case Granted:
		w.giveBack(x.Ownership(), x.HoldKind)
	case Queued, Leading:
		w.s.Leave(x, w.now)
	}
	c.seen = x.State()
	c.ends()
}

func (w *world) giveBack(o *Ownership, kind HoldKind) {
	send, last := w.s.GiveBack(o, kind, w.now)
	switch {
	case last:
		w.tasks = append(w.tasks, &task{kind: releases, o: sent(o)})
	case send:
		w.tasks = append(w.tasks, &task{kind: counts, o: o})
	}
}

// takeNested is how a caller hears what became of its nested call.
func (w *world) takeNested(c *call) {
	o := c.x.Of
	switch c.into {
	case Added:
		w.has(c, o)
	case Over:
		c.x, c.phase = nil, inside
		w.enter(c)
	default:
		c.ends()
	}
}

// leaveNested ends a nested call that does not wait any more.
func (w *world) leaveNested(c *call, atLimit bool) {
	x := c.x
	switch w.s.LeaveReentry(x, atLimit) {
	case Kept:
		w.has(c, x.Of)
		return
	case Returned:
		w.giveBack(x.Of, x.Kind)
	}
	c.ends()
}

// unlock releases the caller's last hold.
func (w *world) unlock(c *call) {
	at := len(c.of) - 1
	o := c.of[at]
	c.of = c.of[:at]
	w.release(c, o, c.kindOf(at))
	if len(c.of) == 0 && c.phase == inside {
		c.over()
	}
}

// sent is the ownership whose release is sent.
func sent(o *Ownership) *Ownership {
	if o.Reader() {
		return o.lease.Root()
	}
	return o
}

func (w *world) release(c *call, o *Ownership, kind HoldKind) {
	if holds := w.s.Owner(c.owner); !c.handle && (holds == nil || holds.State() == Releasing) {
		if w.s.TakeLoss(c.owner) == nil {
			w.fail("the unlock of %s finds neither its hold nor its loss", c.name)
		}
		return
	} else if !c.handle {
		o = holds
	}
	switch {
	case o.State() == Ended:
		if holderOf(o).how == "released" || holderOf(o).how == "handed over" {
			w.fail("the hold of %s was released before", c.name)
		}
		w.s.Forgo(o, kind)
		return
	case o.State() == Releasing:
		w.fail("the hold of %s is being released by another", c.name)
	}
	h := &Hold{After: c.after, Nobody: "nobody"}
	if c.handle {
		h.Kind = kind
	}
	switch w.s.Release(o, h, w.now) {
	case Free:
		w.tasks = append(w.tasks, &task{kind: releases, o: sent(o)})
	case SetCount:
		w.tasks = append(w.tasks, &task{kind: counts, o: o})
	case Nested, NoneToTake:
		w.fail("the release of %s is refused", c.name)
	}
}

// forget is what Redis does when it is restarted empty, or the lock is opened by force.
func (w *world) forget() {
	w.redis.fields = nil
	for _, o := range w.s.owners {
		w.forced(o.lease)
	}
	if w.flight != nil && w.flight.ran {
		w.flight.forced = true
	}
}

// forced notes that a lease is not in Redis, through no fault of the State's.
func (w *world) forced(l *Lease) { watchOf(l).forced = true }

// goOn moves the clock to the next instant at which something ends, or by part of a lease if that is not 0.
func (w *world) goOn(by time.Duration) {
	if by > 0 {
		w.now = w.now.Add(by)
	} else {
		w.now = w.nextEnd()
	}
	w.redis.expire(w.now)
	var over []*task
	w.tasks = slices.DeleteFunc(w.tasks, func(t *task) bool {
		if !t.kind.background() || t.until.After(w.now) {
			return false
		}
		over = append(over, t)
		return true
	})
	for _, t := range over {
		w.checkGivenUp(t)
	}
}

// nextEnd is the next instant at which a validity, a field in Redis or a clean-up ends; zero: there is none.
func (w *world) nextEnd() (next time.Time) {
	sooner := func(t time.Time) {
		if t.After(w.now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, o := range w.s.owners {
		sooner(o.ValidUntil())
	}
	for _, f := range w.redis.fields {
		sooner(f.expires)
	}
	for _, o := range w.s.Readers() {
		sooner(o.ValidUntil())
	}
	for _, t := range w.tasks {
		if t.kind == cleans || t.kind == frees {
			sooner(t.from)
			sooner(t.until)
		}
	}
	return next
}
