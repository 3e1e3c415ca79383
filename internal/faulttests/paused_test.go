package faulttests

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/register"
	"github.com/redlatch/redlatch/internal/worker"
)

// pausedLease is that of processes which are stopped for longer.
const pausedLease = 600 * time.Millisecond

// A process is stopped in its critical section, between the reading and the write that is
// based on it, until another has had the lock and written. Nothing can keep it from writing
// when it goes on: the plain register loses what the other wrote, or this test would be
// blind. The fenced one refuses. And whatever the process asks Redlatch first when it goes
// on, it is not told that it still has the lock.
func TestFault06StoppedHolderWrites(t *testing.T) {
	t.Parallel()
	const lease = 1500 * time.Millisecond // the holder that is not stopped has to keep it
	s, reg := redistest.Start(t), register.Start(t)
	spec := worker.Spec{Redis: s.Addr(), Register: reg.URL(), Lock: "l", Lease: lease}
	a, b := worker.Start(t, spec), worker.Start(t, spec)
	const others = 50 // writes of the other process in each round
	rounds := []struct {
		first worker.Verb
		check func(r worker.Report) error
	}{
		{worker.Write, func(r worker.Report) error { return nil }}, // checked below, for all
		{worker.Look, func(r worker.Report) error {
			if r.Err != "" || r.Held || r.Count != 0 || r.Trusted {
				return fmt.Errorf("the hold looks sound: %+v", r)
			}
			return nil
		}},
		{worker.Unlock, wantLost},
		{worker.Enter, wantLost},
	}
	for i, round := range rounds {
		held := a.Do(worker.Lock)
		read := a.Do(worker.Read)
		if !read.Trusted || read.Refused || read.Reading.Fenced != i*others {
			t.Fatalf("%s: before the stop: %+v", round.first, read)
		}
		a.Stop()
		waited := b.Do(worker.Lock) // when the lease is over
		if waited.Token <= held.Token {
			t.Errorf("%s: token %d after %d", round.first, waited.Token, held.Token)
		}
		for range others {
			b.Do(worker.Read)
			if r := b.Do(worker.Write); r.Refused {
				t.Fatalf("%s: the holder was refused: %+v", round.first, r)
			}
		}
		a.Send(worker.Step{Verb: round.first}) // what it finds when it goes on
		a.Continue()
		first := a.Report()
		if err := round.check(first); err != nil {
			t.Errorf("%s: %v", round.first, err)
		}
		if round.first != worker.Write {
			first = a.Do(worker.Write)
		}
		if first.Err != "" || !first.Refused {
			t.Errorf("%s: the fenced register took the write: %+v", round.first, first)
		}
		if r := a.Ask(worker.Lost); wantLost(r) != nil || r.Trusted {
			t.Errorf("%s: the loss: %+v", round.first, r)
		}
		end := a.Ask(worker.Unlock)
		if round.first == worker.Unlock {
			if !end.Was("ErrNotHeld") {
				t.Errorf("second Unlock: %+v", end)
			}
		} else if err := wantLost(end); err != nil {
			t.Errorf("%s: Unlock: %v", round.first, err)
		}
		if r := b.Do(worker.Look); !r.Held || r.Count != 1 || !r.Trusted {
			t.Errorf("%s: the other's hold: %+v", round.first, r)
		}
		b.Do(worker.Unlock)
	}
	plain, fenced := reg.Plain(), reg.Fenced()
	t.Logf("plain %+v lost %d, fenced %+v", plain, plain.Lost(), fenced)
	if want := len(rounds) * others; plain.Lost() != want {
		t.Errorf("the plain register has lost %d updates, want %d: %+v", plain.Lost(), want, plain)
	}
	if want := len(rounds) * others; fenced.Value != want || fenced.Lost() != 0 || fenced.Refused != len(rounds) {
		t.Errorf("the fenced register lost %d updates: %+v", fenced.Lost(), fenced)
	}
	locktest.FreeWithin(t, s, 10*time.Second, "l")
}

func wantLost(r worker.Report) error {
	if !r.Was("ErrLost") {
		return fmt.Errorf("not lost: %+v", r)
	}
	return nil
}

// Three processes raise a number, each looking at its hold before it writes, and are stopped
// past their lease wherever they are. Of what the fenced register took nothing is lost.
func TestFault06StoppedAnywhere(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"plain", "write", "fair"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			stoppedAnywhere(t, kind)
		})
	}
}

func stoppedAnywhere(t *testing.T, kind string) {
	const each, stops = 100, 3
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 6))
	s, reg := redistest.Start(t), register.Start(t)
	var workers []*worker.Worker
	for range 3 {
		workers = append(workers, worker.Start(t, worker.Spec{
			Redis: s.Addr(), Register: reg.URL(), Lock: "l", Kind: kind, Lease: pausedLease / 2,
		}))
	}
	for _, w := range workers {
		w.Send(worker.Step{Verb: worker.Increase, N: each})
	}
	for i := range stops {
		// In the middle of the work: a share of it is done, and it is not at its end.
		redistest.Eventually(t, time.Minute, "work is done", func() bool { return reg.Fenced().Writes > (i+1)*each/4 })
		// All but one, so that the holder is likely to be among them.
		random.Shuffle(len(workers), func(i, j int) { workers[i], workers[j] = workers[j], workers[i] })
		for _, w := range workers[1:] {
			w.Stop()
		}
		// The one that is left goes on, unless it has done all its work already.
		stopped := time.Now()
		redistest.Eventually(t, time.Minute, "a lease is over", func() bool {
			return time.Since(stopped) > pausedLease*3/2
		})
		for _, w := range workers[1:] {
			w.Continue()
		}
	}
	nothingLost(t, workers, reg, each)
	locktest.TidyWithin(t, s, 10*time.Second, "l") // the last holder's lease at most
}

// nothingLost compares what the workers were told with what the register has.
func nothingLost(t *testing.T, workers []*worker.Worker, reg *register.Server, each int) {
	t.Helper()
	accepted, refused, losses := 0, 0, 0
	for _, w := range workers {
		r := w.Report()
		if r.Err != "" {
			t.Errorf("%+v", r)
		}
		accepted, refused, losses = accepted+r.Accepted, refused+r.Turned, losses+r.Losses
	}
	plain, fenced := reg.Plain(), reg.Fenced()
	t.Logf("%d accepted, %d refused, %d holds lost; the plain register lost %d", accepted, refused, losses, plain.Lost())
	if fenced.Lost() != 0 || fenced.Value != accepted {
		t.Errorf("of %d updates %d are lost: %+v", accepted, accepted-fenced.Value, fenced)
	}
	if len(workers)*each-accepted > losses {
		t.Errorf("%d increments were not made, and only %d holds lost", len(workers)*each-accepted, losses)
	}
}
