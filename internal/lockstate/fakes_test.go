package lockstate

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch/watchdog"
)

// The lease of a Client's renewed holds in these tests, and of a fixed hold.
const (
	testLease  = 30 * time.Second
	fixedLease = 10 * time.Second
)

// commonField is the field that owners with a lease in common have.
const commonField = "c:readers"

// start is when the virtual clock of each test begins.
var start = time.Unix(1_000_000, 0)

// clock is a virtual clock. It has no monotonic reading, so both of watchdog's clocks go by it.
type clock struct{ now time.Time }

// fakeWatch is a watch without a watchdog. The test sends the renewals and reports the losses.
type fakeWatch struct {
	clock    *clock
	watched  bool
	forced   bool // Redis has forgotten the lease, through no fault of the State's
	renewal  bool // one was sent and not answered
	schedule watchdog.Schedule
	did      func(format string, args ...any)
}

func (w *fakeWatch) Start(s watchdog.Schedule) {
	w.watched, w.schedule = true, s
	w.did("watch %s", w)
}

func (w *fakeWatch) Update(s watchdog.Schedule) bool {
	if !w.watched || watchdog.Left(w.schedule.ValidUntil, w.clock.now) <= 0 {
		return false
	}
	if s.ValidUntil.Before(w.schedule.ValidUntil) {
		s.ValidUntil = w.schedule.ValidUntil
	}
	if s != w.schedule {
		w.schedule = s
		w.did("watch %s", w)
	}
	return true
}

func (w *fakeWatch) Retarget() { w.did("watch the field anew") }

func (w *fakeWatch) Stop() {
	w.watched = false
	w.did("watch no more")
}

func (w *fakeWatch) ValidUntil() time.Time { return w.schedule.ValidUntil }

func (w *fakeWatch) String() string {
	s := "until " + at(w.schedule.ValidUntil)
	if w.schedule.Renew {
		s += ", renew"
		if !w.schedule.RenewUntil.IsZero() {
			s += " until " + at(w.schedule.RenewUntil)
		}
	}
	return s
}

// at writes a time as seconds after the start.
func at(t time.Time) string { return fmt.Sprint(t.Sub(start).Round(time.Millisecond)) }

// fakeHolder checks that an ownership ends once, and is told so in the right order.
type fakeHolder struct {
	releasing, over bool
	how             string
	wrong           string // the first violation
	did             func(format string, args ...any)
}

func (h *fakeHolder) fail(what string) {
	if h.wrong == "" {
		h.wrong = what
	}
}

func (h *fakeHolder) Releasing() {
	if h.releasing || h.over {
		h.fail("Releasing twice, or after the end")
	}
	h.releasing = true
	h.did("ctx of the holds ends")
}

func (h *fakeHolder) HandedOver() {
	if h.releasing || h.over {
		h.fail("HandedOver after Releasing or the end")
	}
	h.over, h.how = true, "handed over"
	h.did("ctx of the holds ends")
}

func (h *fakeHolder) Ended(why Ending, releasing bool) {
	if h.over || h.releasing != releasing {
		h.fail("Ended twice, or with the wrong word about Releasing")
	}
	h.over, h.how = true, [...]string{"released", "lost", "closed"}[why.How]
	if why.How == Lost {
		h.how += [...]string{", lease ended", ", overridden"}[why.Reason]
	}
	h.did("ended: %s", h.how)
}

// fakeCall remembers whether its waiter was notified.
type fakeCall struct {
	notified bool
	did      func(format string, args ...any)
}

func (c *fakeCall) Notify() {
	c.notified = true
	c.did("notified")
}

// cleanUp is a clean-up that the State has asked for.
type cleanUp struct {
	owner string
	to    *Parting
	until time.Time
}

// freeAt is an end of a fixed lease that the State has asked to be told.
type freeAt struct {
	lease     *Lease
	at, until time.Time
}

// endAt is an end of a reader's fixed holds that the State has asked to be told.
type endAt struct {
	o  *Ownership
	at time.Time
}

// fakeEngine keeps what the State asks for, as data.
type fakeEngine struct {
	clock    *clock
	cleanUps []cleanUp
	freeAts  []freeAt
	endAts   []endAt
	repairs  []*Ownership
	leave    bool // the registry

	linesUp, leavesLine bool // tickets

	sync    bool // the field
	listens bool
	made    []*Ownership
	leases  []*Lease
	losses  []*Losses

	// did records what was called, for traces.
	did func(who, format string, args ...any)
}

func (e *fakeEngine) Ownership(of *Lease) *Ownership {
	o := new(Ownership)
	did := func(format string, args ...any) { e.did(o.owner, format, args...) }
	o.Engine = &fakeHolder{did: did}
	if of == nil {
		of = new(Lease)
		of.Watch = &fakeWatch{clock: e.clock, did: func(format string, args ...any) { e.did(of.field.owner, format, args...) }}
		e.leases = append(e.leases, of)
	}
	o.Bind(of)
	e.made = append(e.made, o)
	return o
}

func (e *fakeEngine) CleanUp(owner string, to *Parting, until time.Time) {
	c := cleanUp{owner, to, until}
	if !slices.Contains(e.cleanUps, c) {
		e.cleanUps = append(e.cleanUps, c)
	}
	what := "clean up"
	if to != nil {
		what = "leave to nobody until " + at(to.Until) + ", trying"
	}
	e.did(owner, "%s until %s", what, at(until))
}

func (e *fakeEngine) FreeAt(l *Lease, when, until time.Time) {
	e.freeAts = append(e.freeAts, freeAt{l, when, until})
	e.did(l.field.owner, "free at %s, trying until %s", at(when), at(until))
}

func (e *fakeEngine) Shares(root *Ownership) { e.did(root.owner, "many have it") }

func (e *fakeEngine) EndAt(o *Ownership, when time.Time) {
	e.endAts = append(e.endAts, endAt{o, when})
	e.did(o.owner, "end at %s", at(when))
}

func (e *fakeEngine) RepairCount(o *Ownership) {
	if !slices.Contains(e.repairs, o) {
		e.repairs = append(e.repairs, o)
	}
	e.did(o.owner, "repair the hold count")
}

func (e *fakeEngine) LeaveRegistry() {
	e.leave = true
	e.did("", "leave the registry of waiters")
}

func (e *fakeEngine) LineUp() {
	e.linesUp = true
	e.did("", "line up")
}

func (e *fakeEngine) LeaveLine() {
	e.leavesLine = true
	e.did("", "leave the line")
}

func (e *fakeEngine) SyncField() {
	e.sync = true
	e.did("", "sync the field")
}

func (e *fakeEngine) Listen() {
	e.listens = true
	e.did("", "listen")
}

func (e *fakeEngine) StopListening() { e.listens = false }

func (e *fakeEngine) Remember(l *Losses, renewed bool) {
	e.losses = append(e.losses, l)
	e.did(l.owner, "remember the loss")
}

func (e *fakeEngine) Forget(l *Losses) bool {
	i := slices.Index(e.losses, l)
	if i < 0 {
		return false
	}
	e.losses = slices.Delete(e.losses, i, i+1)
	return true
}

func watchOf(l *Lease) *fakeWatch          { return l.Watch.(*fakeWatch) }
func holderOf(o *Ownership) *fakeHolder    { return o.Engine.(*fakeHolder) }
func mute(who, format string, args ...any) {}
func muteOne(format string, args ...any)   {}

// renewed is what the watchdog does at the answer to a renewal.
func (w *fakeWatch) renewed(sent time.Time, lease time.Duration) {
	if until := watchdog.Validity(sent, lease); until.After(w.schedule.ValidUntil) {
		w.schedule.ValidUntil = until
	}
}
