package worker_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/leaktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/register"
	"github.com/redlatch/redlatch/internal/worker"
)

func TestMain(m *testing.M) {
	worker.Main()
	leaktest.Main(m)
}

// A worker does its steps in order, says what came of them, does nothing while it is
// stopped, and ends when it is killed.
func TestWorker(t *testing.T) {
	t.Parallel()
	s, reg := redistest.Start(t), register.Start(t)
	spec := worker.Spec{Redis: s.Addr(), Register: reg.URL(), Lock: "l", Lease: time.Minute}
	a, b := worker.Start(t, spec), worker.Start(t, spec)

	if r := a.Ask(worker.Write); r.Err == "" {
		t.Errorf("wrote without a hold: %+v", r)
	}
	if r := a.Do(worker.Lock); r.Token == 0 || !r.Trusted || r.Cause != "" {
		t.Errorf("lock: %+v", r)
	}
	if r := a.Do(worker.Look); !r.Held || r.Count != 1 {
		t.Errorf("look: %+v", r)
	}
	a.Do(worker.Enter)
	if r := a.Do(worker.Look); r.Count != 2 {
		t.Errorf("look: %+v", r)
	}
	a.Do(worker.Read)
	b.Send(worker.Step{Verb: worker.Lock}) // waits
	a.Stop()
	a.Send(worker.Step{Verb: worker.Write})
	if n := reg.Plain().Writes; n != 0 {
		t.Errorf("%d writes by a stopped process", n)
	}
	a.Continue()
	if r := a.Report(); r.Err != "" || r.Refused {
		t.Errorf("write: %+v", r)
	}
	a.Stop()
	a.Kill()
	s.Do(t, "DEL", "l")
	if r := b.Report(); r.Err != "" || r.Token == 0 {
		t.Errorf("lock: %+v", r)
	}
	if r := b.Do(worker.Unlock); r.Trusted || r.Cause == "" {
		t.Errorf("unlock: %+v", r)
	}
	if r := b.Ask(worker.Unlock); !r.Was("ErrNotHeld") {
		t.Errorf("second unlock: %+v", r)
	}
	b.Send(worker.Step{Verb: worker.Increase, N: 10})
	if r := b.Report(); r.Err != "" || r.Accepted != 10 || r.Turned+r.Losses != 0 {
		t.Errorf("increase: %+v", r)
	}
	if plain, fenced := reg.Plain(), reg.Fenced(); plain.Value != 11 || plain.Lost() != 0 || fenced.Value != 11 || fenced.Lost() != 0 {
		t.Errorf("plain %+v, fenced %+v", plain, fenced)
	}
}
