package lockstate

import (
	"bytes"
	"encoding/binary"
	"slices"
	"time"
)

// snapshot writes a world so that two worlds with the same snapshot have the same future: times count from
// now, pointers are numbered as they are met, and numbers that only count are left out.
type snapshot struct {
	b    []byte
	w    *world
	met  []*Ownership
	seen []*Lease
}

func (w *world) snapshot(room []byte) []byte {
	s := &snapshot{b: room[:0], w: w}
	s.state()
	s.flags(w.closing, w.abandoned, w.dropped, w.unknown, w.wrong != "", w.redis.registered, w.redis.barred)
	s.text(w.redis.grantee)
	s.num(int(w.redis.wants))
	s.flags(w.expected != 0, w.expected == w.redis.nonce, w.published != 0, w.published == w.expected, w.forgotten)
	s.time(w.askedAt)
	s.time(w.late)
	s.num(w.left.faults, w.left.retries, w.left.jumps, w.left.renews, w.left.forces, w.left.others, w.left.closes, w.left.moments, w.left.bars)
	for _, c := range w.calls {
		s.call(c)
	}
	for _, f := range w.redis.fields { // in the order in which they came
		s.text(f.owner)
		s.num(int(f.mode), f.count)
		s.time(f.expires)
		s.flags(f.late)
	}
	for _, owner := range w.givenUp {
		s.text(owner)
	}
	s.num(len(w.limbo))
	for i := range w.limbo {
		s.command(&w.limbo[i])
	}
	if w.turn != nil {
		s.task(w.turn)
		s.flight(w.flight)
	}
	s.tasks()
	return s.b
}

func (s *snapshot) num(all ...int) {
	for _, n := range all {
		s.b = binary.AppendVarint(s.b, int64(n))
	}
}

func (s *snapshot) flags(all ...bool) {
	for _, yes := range all {
		s.b = append(s.b, 0)
		if yes {
			s.b[len(s.b)-1] = 1
		}
	}
}

func (s *snapshot) text(t string) { s.b = append(append(s.b, t...), 0) }

func (s *snapshot) time(t time.Time) {
	if t.IsZero() {
		s.b = append(s.b, 'z')
		return
	}
	s.b = binary.AppendVarint(append(s.b, 't'), int64(t.Sub(s.w.now)))
}

func (s *snapshot) state() {
	st := &s.w.s
	s.flags(st.busy, st.closing)
	s.num(int(st.arrival), st.budget.used, st.budget.limit)
	s.flags(st.budget.others)
	s.time(st.budget.aloneUntil)
	s.time(st.outage.sent)
	s.time(st.outage.since)
	for _, owner := range st.grantees {
		s.text(owner)
	}
	s.b = append(s.b, '|')
	for _, o := range st.owners {
		s.ownership(o)
	}
	if x := st.shared; x != nil {
		for _, o := range x.sorted() {
			s.ownership(o)
			s.time(x.ends[o.owner])
		}
		s.flags(x.ending, s.w.now.Sub(x.confirmed) < freshFor)
	}
	s.b = append(s.b, '|')
	for x := st.waiting.first; x != nil; x = x.next {
		s.waiter(x)
	}
	s.b = append(s.b, '|')
	for _, c := range s.w.calls {
		if l := st.losses[c.owner]; l != nil {
			s.ownership(l.last)
			s.holds(l.holds)
			s.time(l.until)
			s.num(l.earlier, l.handles)
		}
		s.b = append(s.b, ';')
	}
}

func (s *snapshot) holds(all []HoldKind) {
	s.num(len(all))
	for _, k := range all {
		s.flags(k.Fixed, k.Handle)
	}
}

// ownership writes an ownership where it is met first, and its number there from then on.
func (s *snapshot) ownership(o *Ownership) {
	if o == nil {
		s.b = append(s.b, '-')
		return
	}
	i := slices.Index(s.met, o)
	if s.num(i); i >= 0 {
		return
	}
	s.met = append(s.met, o)
	s.text(o.owner)
	s.num(int(o.mode), int(o.state), int(o.token))
	if s.w.cfg.MaxHold > 0 {
		s.time(o.since)
	}
	s.flags(o.refused, o.losses != nil, o.losses != nil && s.w.s.losses[o.owner] == o.losses)
	s.time(o.until)
	s.holds(o.holds)
	s.text(holderOf(o).how)
	s.lease(o.lease)
}

func (s *snapshot) lease(l *Lease) {
	i := slices.Index(s.seen, l)
	if s.num(i); i >= 0 {
		return
	}
	s.seen = append(s.seen, l)
	s.flags(l.renewed, l.extendedForNobody, l.long, l.parting != nil, l.field.nested)
	s.time(l.reach)
	s.time(l.late)
	if p := l.parting; p != nil {
		s.time(p.Until)
		s.time(p.expires)
	}
	s.text(l.field.owner)
	s.text(l.field.next)
	s.time(l.field.moveSent)
	s.ownership(l.field.countOf)
	x := watchOf(l)
	s.flags(x.watched, x.forced, x.renewal, x.schedule.Renew)
	s.time(x.schedule.ValidUntil)
	s.time(x.schedule.RenewUntil)
}

func (s *snapshot) waiter(x *Waiter) {
	if x == nil {
		s.b = append(s.b, '-')
		return
	}
	s.text(x.Owner)
	s.num(int(x.state))
	s.flags(x.SharedField != "", x.admitted, x.led, x.unknownOutcome, x.Fixed, x.Handle, x.AnyCall)
	s.ownership(x.ownership)
	s.ownership(x.handedBy)
	p := &x.patience
	s.flags(x.refusal != nil, p.answered, p.failure != nil, p.answers == s.w.s.outage.answers)
	s.num(int(p.failures))
	s.time(p.since)
	s.time(p.behind)
	s.time(x.Began)
}

func (s *snapshot) call(c *call) {
	s.num(int(c.phase), c.took, c.rounds, int(c.into), int(c.seen))
	s.flags(c.quit, c.asks)
	s.num(len(c.of))
	for _, o := range c.of {
		s.ownership(o)
	}
	s.waiter(c.w)
	s.reentry(c.x)
}

func (s *snapshot) reentry(x *Reentry) {
	if x == nil {
		s.b = append(s.b, '-')
		return
	}
	s.ownership(x.Of)
	s.num(x.Count, int(x.Ask))
	s.time(x.sent)
	s.flags(x.entered, x.gone, x.Kind.Fixed)
}

func (s *snapshot) command(c *command) {
	s.num(int(c.verb), int(c.mode), c.count, int(c.lease))
	s.text(c.from)
	s.text(c.to)
	s.flags(c.joins, c.epoch, c.registers, c.registers && c.number == s.w.expected)
	for _, owner := range c.departed {
		s.text(owner)
	}
}

func (s *snapshot) flight(f *flight) {
	s.text(f.step)
	s.ownership(f.o)
	s.waiter(f.to)
	s.command(&f.cmd)
	s.flags(f.retry, f.ran, f.forced, f.before)
	s.num(int(f.reply))
	s.time(f.sent)
}

func (s *snapshot) task(t *task) {
	s.num(int(t.kind), int(t.why))
	if t.call != nil {
		s.text(t.call.name)
		s.waiter(t.waiter)
	}
	s.ownership(t.o)
	s.reentry(t.x)
	if t.lease != nil {
		s.lease(t.lease)
	}
	s.text(t.owner)
	s.flags(t.to != nil)
	s.time(t.from)
	s.time(t.until)
}

// tasks writes the tasks in an order of their own: which of them came first does not matter.
func (s *snapshot) tasks() {
	from := len(s.b)
	var each [][]byte
	for _, t := range s.w.tasks {
		at := len(s.b)
		s.task(t)
		each = append(each, slices.Clone(s.b[at:]))
	}
	slices.SortFunc(each, bytes.Compare)
	s.b = s.b[:from]
	for _, b := range each {
		s.b = append(s.b, b...)
	}
}
