package faulttests

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/register"
	"github.com/redlatch/redlatch/internal/worker"
)

// A program with one thread and goroutines that compute without pause, each for 10 ms at a
// time, keeps its lock over several leases, gets a lock that it waits for, and is told
// nothing wrong: two such programs and one without that load raise a register and lose
// no update. The lease is long enough for a test machine that is itself busy; what
// happens with one that is too short is fault 7.
func TestFault66OneBusyThread(t *testing.T) {
	t.Parallel()
	const (
		lease = 8 * time.Second // the machine may be busy, too
		busy  = 4
		turns = 10
	)
	s, reg := redistest.Start(t), register.Start(t)
	spec := worker.Spec{Redis: s.Addr(), Register: reg.URL(), Lock: "l", Lease: lease}
	idle := worker.Start(t, spec)
	spec.Busy = busy
	first, second := worker.Start(t, spec), worker.Start(t, spec)

	// It keeps what it has, while another waits.
	held := first.Do(worker.Lock)
	second.Send(worker.Step{Verb: worker.Lock})
	for began := time.Now(); time.Since(began) < lease+lease/4; {
		if r := first.Do(worker.Look); !r.Held || r.Count != 1 || !r.Trusted || r.Token != held.Token {
			t.Fatalf("after %v: %+v, taken as %+v", time.Since(began), r, held)
		}
	}
	first.Do(worker.Unlock)
	next := second.Report()
	if next.Err != "" || next.Token <= held.Token || !next.Trusted {
		t.Fatalf("the next holder: %+v", next)
	}
	second.Do(worker.Unlock)

	// And all of them take turns.
	all := []*worker.Worker{idle, first, second}
	for _, w := range all {
		w.Send(worker.Step{Verb: worker.Increase, N: turns})
	}
	for i, w := range all {
		if r := w.Report(); r.Err != "" || r.Accepted != turns || r.Turned+r.Losses != 0 {
			t.Errorf("worker %d: %+v", i, r)
		} else {
			t.Logf("worker %d: %d turns in %v", i, turns, r.Took)
		}
	}
	want := turns * len(all)
	if plain, fenced := reg.Plain(), reg.Fenced(); plain.Value != want || plain.Lost() != 0 || fenced.Value != want || fenced.Refused != 0 {
		t.Errorf("plain %+v, fenced %+v, want %d", plain, fenced, want)
	}
	locktest.TidyWithin(t, s, 20*time.Second, "l")
}
