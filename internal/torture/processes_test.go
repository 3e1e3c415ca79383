//go:build torture

package torture

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/history"
	"github.com/redlatch/redlatch/internal/oracle"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/worker"
)

// record is what all processes did, on the machine's wall clock.
type record struct {
	base time.Time

	mu                     sync.Mutex
	ops                    []history.Op // guarded by mu
	killed, stopped, fails int          // guarded by mu
}

// tenure notes that a process trusted the lock from the end of the step that took it until
// then, or until its validity ended, whichever was first.
func (r *record) tenure(process string, lock worker.Report, lease time.Duration, until ...time.Time) {
	end := slices.MinFunc(until, time.Time.Compare)
	at := func(x time.Time) history.Instant { return history.Instant(x.Sub(r.base)) }
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops = append(r.ops, history.Op{
		Kind: history.Acquire, Owner: process, Lock: "l", Call: at(lock.Began), Return: at(lock.Began.Add(lock.Took)),
		Outcome: history.OK, Token: lock.Token, Lease: lease, ValidUntil: at(end),
	})
}

func (r *record) count(n *int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*n++
}

// history is the record in the order of calls.
func (r *record) history() (h history.History) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h.Ops = slices.Clone(r.ops)
	slices.SortFunc(h.Ops, func(a, b history.Op) int { return int(a.Call - b.Call) })
	for i := range h.Ops {
		h.Ops[i].ID, h.Ops[i].Hold = int64(i+1), int64(i+1)
	}
	return h
}

// Four processes share a lock while they are killed with it, and stopped past their lease,
// over a server that is killed 35 times and keeps its data. No two trust the lock at the
// same time, tokens rise, and in the end every process gets it.
func TestProcesses(t *testing.T) {
	const (
		processes = 4
		kills     = 35
		lease     = time.Second
	)
	s := redistest.Start(t, redistest.WithAOF())
	r := &record{base: time.Now().Round(0)}
	spec := worker.Spec{Redis: s.Addr(), Lock: "l", Lease: lease}
	stop := make(chan struct{})
	var crowd sync.WaitGroup
	for i := range processes {
		crowd.Go(func() { r.live(t, spec, fmt.Sprint(i), stop) })
	}
	for range kills {
		<-time.After(200*time.Millisecond + rand.N(2*time.Second))
		s.Kill()
		<-time.After(rand.N(time.Second))
		s.Restart()
	}
	close(stop)
	crowd.Wait()
	h := r.history()
	t.Logf("%d tenures, server killed %d times, processes killed %d times and stopped %d times, %d calls refused",
		len(h.Ops), kills, r.killed, r.stopped, r.fails)
	if len(h.Ops) < 2*kills || r.killed == 0 || r.stopped == 0 {
		t.Error("that shows little")
	}
	accept(t, oracle.Overlap(h))
	accept(t, oracle.Tokens(h, nil))
	tidy(t, s, "l")
}

// live is one process after another, until stop and once more.
func (r *record) live(t *testing.T, spec worker.Spec, name string, stop <-chan struct{}) {
	w, life := worker.Start(t, spec), 0
	for last := false; !last; {
		select {
		case <-stop:
			last = true
		default:
		}
		lock := w.Ask(worker.Lock)
		if lock.Err != "" {
			if last {
				t.Errorf("process %s does not get the lock in the end: %s", name, lock.Err)
			}
			r.count(&r.fails)
			continue
		}
		process := fmt.Sprintf("%s.%d", name, life)
		switch n := rand.N(20); {
		case n == 0 && !last:
			r.tenure(process, lock, spec.Lease, lock.Valid, time.Now())
			w.Kill()
			r.count(&r.killed)
			w = worker.Start(t, spec)
			life++
			continue
		case n == 1 && !last:
			w.Stop()
			<-time.After(spec.Lease + rand.N(spec.Lease))
			w.Continue()
			r.count(&r.stopped)
		default:
			<-time.After(rand.N(20 * time.Millisecond))
		}
		unlock := w.Ask(worker.Unlock) // whatever comes of it: the hold may be lost
		r.tenure(process, lock, spec.Lease, unlock.Began, unlock.Valid)
	}
}
