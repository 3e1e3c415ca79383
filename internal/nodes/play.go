package nodes

import (
	"testing"
	"time"
)

// early is how long before its second a tick may come: a timer does not follow the wall clock to the microsecond.
const early = 20 * time.Millisecond

func second(r Run) int64 { return r.Began.Add(early).Unix() }

// EverySecond has the job run for seconds, and wants it to run at most once in each second, and in half of them at least:
// a tick is left out if the tick before it came late, as on a busy machine.
func EverySecond(t testing.TB, s Spec, seconds int) {
	t.Helper()
	f := start(t, s)
	before := f.next()
	first, runs := second(before), 1
	for {
		r := f.next()
		if second(r) >= first+int64(seconds) {
			break
		}
		runs++
		if second(r) == second(before) {
			t.Errorf("%s ran the job at %s, and %s at %s",
				before.Node, before.Began.Format("05.000"), r.Node, r.Began.Format("05.000"))
		}
		before = r
	}
	t.Logf("%d runs in %d s", runs, seconds)
	if runs < seconds/2 {
		t.Errorf("the job ran in %d of %d seconds", runs, seconds)
	}
}

// Twice wants the job to run twice in a second: without a minimum hold it does. It shows that EverySecond would see it.
func Twice(t testing.TB, s Spec) {
	t.Helper()
	f := start(t, s)
	before := f.next()
	for n := range 30 {
		r := f.next()
		if second(r) == second(before) {
			t.Logf("%s and %s ran the job in one second, %v apart, after %d runs", before.Node, r.Node, r.Began.Sub(before.Began), n+2)
			return
		}
		before = r
	}
	t.Error("the job never ran twice in a second")
}

// Once wants the job to run once on all nodes together, which end by themselves.
func Once(t testing.TB, s Spec) {
	t.Helper()
	f := start(t, s)
	first := f.next()
	for _, p := range f.nodes {
		<-p.ended
	}
	if n := len(f.runs); n > 0 {
		t.Errorf("the job ran %d times, first on %s", n+1, first.Node)
	}
}

// TakesOver kills the node that runs the job, and wants that another node runs it when the lease has ended, or at the first
// tick of a second after that.
func TakesOver(t testing.TB, s Spec) {
	t.Helper()
	s.Hang = true
	f := start(t, s)
	r := f.next()
	if !r.Hangs {
		t.Fatalf("the first run, on %s, does not hang", r.Node)
	}
	f.none(s.Lease * 3 / 2) // the run is longer than the lease, which is renewed
	f.kill(r.Node)
	killed := time.Now()
	next := f.next()
	if next.Node == r.Node {
		t.Errorf("%s runs the job after its death", r.Node)
	}
	// The lease, the second to the next tick, and one more for a busy machine.
	took := next.Began.Sub(killed)
	t.Logf("%s ran the job %v after the kill", next.Node, took.Round(time.Millisecond))
	if took > s.Lease+2*time.Second {
		t.Errorf("the job went on %v after the kill, with a lease of %v", took, s.Lease)
	}
}

// GoesOn kills the node that runs the job at each tick, and wants that one other node goes on when the lease has ended. No second
// has two runs.
func GoesOn(t testing.TB, s Spec) {
	t.Helper()
	f := start(t, s)
	before := f.next()
	leader := before.Node
	f.kill(leader)
	killed := time.Now()
	for runs := 0; runs < 3; {
		r := f.next()
		if r.Node == leader && runs == 0 && r.Began.Before(killed) {
			before = r // it was told, and not read
			continue
		}
		if second(r) == second(before) {
			t.Errorf("%s ran the job at %s, and %s at %s",
				before.Node, before.Began.Format("05.000"), r.Node, r.Began.Format("05.000"))
		}
		switch took := r.Began.Sub(killed); {
		case runs > 0 && r.Node != before.Node:
			t.Errorf("%s runs the job, and %s did before", r.Node, before.Node)
		case runs == 0 && took > s.Lease+2*time.Second: // the second to the next tick, and one more for a busy machine
			t.Errorf("the job went on %v after the kill, with a lease of %v", took, s.Lease)
		case runs == 0:
			t.Logf("%s ran the job %v after the kill", r.Node, took.Round(time.Millisecond))
		}
		before = r
		runs++
	}
}
