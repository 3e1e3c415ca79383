package mixedtests

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/redlatch/redlatch/internal/child"
	"github.com/redlatch/redlatch/internal/leaktest"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
)

var must = locktest.Must

func TestMain(m *testing.M) { leaktest.Main(m) }

// During a rolling deployment processes of two versions share a lock. They exclude each other, keep the order in
// which they came, and wake each other by message. Only a release of the newer version grants the lock, and only to
// the newer version.
func TestMixedVersions(t *testing.T) {
	f := startFleet(t)
	run := func(name string, part func(*fleet)) {
		if !t.Run(name, func(t *testing.T) { part(f.in(t)) }) {
			t.FailNow() // the workers may be in the midst of a step
		}
	}
	for _, fenced := range []bool{false, true} {
		run(fmt.Sprintf("in turn, fencing %v", fenced), func(f *fleet) { f.takeTurns(fenced) })
		run(fmt.Sprintf("all at once, fencing %v", fenced), func(f *fleet) { f.contend(fenced) })
	}
	run("a waiter has died", (*fleet).waiterDies)
	if child.CanStop {
		run("who was granted the lock stands still", (*fleet).granteeStands)
	}
	f.in(t)
	for _, p := range f.all() {
		p.end()
	}
	for _, key := range f.server.Do(t, "KEYS", checks+"*").([]any) {
		f.server.Do(t, "DEL", key)
	}
	locktest.TidyWithin(t, f.server, patience)
}

// in has what fails in a subtest fail there.
func (f *fleet) in(t *testing.T) *fleet {
	g := *f
	g.t = t
	for _, p := range g.all() {
		p.t = t
	}
	return &g
}

// takeTurns has workers wait in line, and looks how each is served: the versions of a holder, of the first waiter
// and of the second one in all combinations, and then long lines in any order.
func (f *fleet) takeTurns(fenced bool) {
	var lines [][]*process
	for i := range 8 {
		free := [][]*process{slices.Clone(f.older), slices.Clone(f.newer)}
		var line []*process
		for place := range 3 {
			of := &free[i>>place&1]
			line, *of = append(line, (*of)[0]), (*of)[1:]
		}
		lines = append(lines, line)
	}
	for range 10 {
		line := f.all()
		rand.Shuffle(len(line), func(i, j int) { line[i], line[j] = line[j], line[i] })
		lines = append(lines, line)
	}
	var sum tally
	for i, line := range lines {
		f.takeTurn(Step{Lock: fmt.Sprintf("lock-%v-%d", fenced, i), Fenced: fenced}, line, &sum)
	}
	f.t.Logf("%d lines: %s", len(lines), &sum)
	if sum.slow > len(lines)/4 {
		f.t.Errorf("in %d of %d lines somebody was not woken in time", sum.slow, len(lines))
	}
	if sum.granted == 0 {
		f.t.Error("no release has granted the lock")
	}
}

// takeTurn has the first of the line hold the lock, and the others wait in this order.
//
// A worker that has waited for a second polls. On a machine so slow anything may overtake it, so that nothing is
// said of the order and of the wake-ups of this line. takeTurns does not let that happen often.
func (f *fleet) takeTurn(s Step, line []*process, sum *tally) {
	f.t.Helper()
	with := func(v Verb) Step { s.Verb = v; return s }
	line[0].do(with(Acquire))
	want := []any{line[0].id}
	for i, p := range line[1:] {
		f.queue(p, with(Once), i+1)
		want = append(want, p.id)
	}
	line[0].do(with(Release))
	var one tally
	var wrong []string
	for i, p := range line[1:] {
		r := p.report()
		one.add(r)
		granted := uint64(0)
		if p.newer && line[i].newer { // line[i] is the one before p
			granted = 1
		}
		if r.message != 1 || r.granted != granted {
			wrong = append(wrong, fmt.Sprintf("%s after %s: %d messages, granted %d: %s", p.id, line[i].id, r.message, r.granted, r.Stats))
		}
	}
	f.counted(s.Lock, len(line))
	if got := f.server.Do(f.t, "LRANGE", orderKey(s.Lock), 0, -1); !slices.Equal(got.([]any), want) {
		wrong = append(wrong, fmt.Sprintf("the order was %v, want %v", got, want))
	}
	if one.waits > 0 {
		one.slow = 1
		f.t.Logf("%s: %s: %q", s.Lock, &one, wrong)
	} else if len(wrong) > 0 {
		f.t.Errorf("%s: %q", s.Lock, wrong)
	}
	sum.join(one)
}

// queue has a worker wait for a lock, as that one in line.
func (f *fleet) queue(p *process, s Step, place int) {
	f.t.Helper()
	p.send(s)
	redistest.Eventually(f.t, patience, p.id+" waits", func() bool {
		return f.server.Do(f.t, "ZCARD", "redlatch_waiters:{"+s.Lock+"}") == int64(place)
	})
}

// waiterDies kills the first waiter of a line: a release passes over it, whatever the versions of the three are.
func (f *fleet) waiterDies() {
	for i := range 8 {
		versions := [][]*process{f.older, f.newer}
		holder, next := versions[i&1][0], versions[i>>1&1][1]
		dead := f.start(fmt.Sprint("dead", i), i>>2 == 1)
		s := Step{Lock: fmt.Sprint("lock-death-", i), Fenced: i%3 == 0}
		with := func(v Verb) Step { s.Verb = v; return s }
		holder.do(with(Acquire))
		f.queue(dead, with(Once), 1)
		f.queue(next, with(Once), 2)
		dead.process.Kill()
		redistest.Eventually(f.t, patience, "Redis knows of the death", func() bool {
			return len(f.server.Do(f.t, "PUBSUB", "CHANNELS", "redisson_lock__channel:{"+s.Lock+"}:*").([]any)) == 1
		})
		holder.do(with(Release))
		if r := next.report(); r.message != 1 && r.waits == 0 {
			f.t.Errorf("%s after %s, with a dead one between them (newer: %v): %s", next.id, holder.id, dead.newer, r.Stats)
		}
		f.counted(s.Lock, 2)
	}
}

// granteeStands stops a waiter of the newer version, to which a release of the newer version grants the lock. Who
// waits behind it, with the older version, has the lock when the claim is over, and the other one does not trust its
// grant when it goes on.
func (f *fleet) granteeStands() {
	s := Step{Lock: "lock-stands", Fenced: true}
	with := func(v Verb) Step { s.Verb = v; return s }
	holder, stopped, next := f.newer[0], f.newer[1], f.older[0]
	holder.do(with(Acquire))
	f.queue(stopped, with(Once), 1)
	f.queue(next, with(Acquire), 2)
	must(f.t, stopped.process.Stop())
	holder.do(with(Release))
	if ttl := f.server.Do(f.t, "PTTL", s.Lock).(int64); ttl > 3000 {
		f.t.Errorf("the lock is kept for %d ms", ttl)
	}
	if r := next.report(); r.waits == 0 {
		f.t.Errorf("%s has the lock and did not wait for the claim: %s", next.id, r.Stats)
	}
	must(f.t, stopped.process.Continue())
	// It has found the lock taken, and waits for it again.
	redistest.Eventually(f.t, patience, "the stopped one waits", func() bool {
		return f.server.Do(f.t, "ZCARD", "redlatch_waiters:{"+s.Lock+"}") == int64(1)
	})
	next.do(with(Release))
	if r := stopped.report(); r.granted != 0 {
		f.t.Errorf("%s counts a grant that it could not trust: %s", stopped.id, r.Stats)
	}
	f.counted(s.Lock, 3)
}

// contend has all workers take the lock as often as they can. Two of them have two callers each, so that hand-offs
// inside a Client are among it. They begin together, so that none is done before another one has begun.
func (f *fleet) contend(fenced bool) {
	s := Step{Verb: Acquire, Lock: fmt.Sprintf("lock-%v", fenced), Fenced: fenced}
	starter := f.start("starter", fenced)
	starter.do(s)
	s.Verb, s.N = Contend, 50
	for i, p := range f.all() {
		s.Callers = 1 + i%3/2
		f.queue(p, s, i+1)
	}
	s.Verb = Release
	starter.do(s)
	starter.end()
	sum := tally{acquired: 1}
	for _, p := range f.all() {
		sum.add(p.report())
	}
	within, between, across := f.passed(s.Lock)
	f.t.Logf("%s; the lock passed %d times inside a process, %d times between processes of a version, %d times to the other version",
		&sum, within, between, across)
	f.counted(s.Lock, sum.acquired)
	if across < sum.acquired/20 || sum.message < uint64(sum.acquired)/10 {
		f.t.Error("that shows little")
	}
	// A few are no fault. A release keeps the free lock for the client that it woke for 100 ms, and a slow machine may
	// need longer: then others try.
	if sum.waits > uint64(sum.acquired)/4 {
		f.t.Errorf("%d attempts were called for by no message", sum.waits)
	}
}

// passed counts how often the lock went from a process to itself, to another of its version, and to the other version.
func (f *fleet) passed(lock string) (within, between, across int) {
	last := "starter"
	for _, entry := range f.server.Do(f.t, "LRANGE", orderKey(lock), 0, -1).([]any) {
		switch id := entry.(string); {
		case id == last:
			within++
		case last == "starter" || id == "starter":
		case id[:5] == last[:5]: // older, or newer
			between++
		default:
			across++
		}
		last = entry.(string)
	}
	return within, between, across
}

// counted checks that the number which only the lock guards is that of the acquisitions.
func (f *fleet) counted(lock string, acquired int) {
	f.t.Helper()
	if got := f.server.Do(f.t, "GET", countKey(lock)); got != fmt.Sprint(acquired) {
		f.t.Errorf("%s: counted to %v, want %d", lock, got, acquired)
	}
	locktest.FreeWithin(f.t, f.server, patience, lock)
}

// tally sums up what the workers tell.
type tally struct {
	acquired, gaveUp, slow  int // slow: lines in which somebody polled
	granted, message, waits uint64
}

func (n *tally) add(r told) {
	n.join(tally{acquired: r.Acquired, gaveUp: r.GaveUp, granted: r.granted, message: r.message, waits: r.waits})
}

func (n *tally) join(m tally) {
	n.acquired += m.acquired
	n.gaveUp += m.gaveUp
	n.slow += m.slow
	n.granted += m.granted
	n.message += m.message
	n.waits += m.waits
}

func (n *tally) String() string {
	return fmt.Sprintf("%d acquisitions, %d by grant; %d woken by message (grants among them), %d polls and TTLs that ended; %d gave up",
		n.acquired, n.granted, n.message, n.waits, n.gaveUp)
}
