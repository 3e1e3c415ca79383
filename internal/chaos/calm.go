package chaos

import (
	"fmt"
	"math/rand/v2"
	"runtime/pprof"
	"strings"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/history"
	"github.com/redlatch/redlatch/internal/oracle"
)

const (
	// calmWithin bounds how long it may take, once there are no faults any more, until all
	// who wait have had the lock and all is tidy. It is far off: the poll of a waiter that
	// hears nothing is 5 s at most, and what was left behind is gone after a lease.
	calmWithin = 20 * time.Second

	// hungAfter is when a round is given up, on however busy a machine.
	hungAfter = 3 * calmWithin
)

// rollCall has every member take every lock, and each side of it, all at once. With the faults over, everybody
// gets it; an error is for [oracle.Progress], which knows whether the machine can be blamed.
func (r *round) rollCall(crowd *sync.WaitGroup) {
	for _, m := range r.members {
		for _, x := range everySide(r.targets) {
			w := &worker{r: r, m: m, name: "roll" + string(x.side), random: rand.New(rand.NewPCG(r.seed, 0))}
			crowd.Go(func() {
				e := w.begin(x.target, x.side)
				op := e.op(history.Acquire)
				op.Lease, op.Wait, op.Must = lease, -1, true
				for giveUp := time.Now().Add(2 * calmWithin); ; {
					id := r.log.Call(op)
					hold, err := e.lock.Acquire(e.ctx)
					if err == nil {
						g := &grip{e: e, hold: hold, held: r.log.Granted(id, hold, hold.Token()), drop: func() {}, over: make(chan struct{})}
						g.tell()
						g.release()
						return
					}
					r.log.Return(id, failed(err))
					if time.Now().After(giveUp) {
						r.tb.Errorf("chaos: seed %d, round %d: %s did not get %s within %v after the storm: %v", r.seed, r.n, e.owner, x.name, 2*calmWithin, err)
						return
					}
				}
			})
		}
	}
}

// hung waits for all of them; true if that takes too long.
func hung(crowd *sync.WaitGroup) bool {
	done := make(chan struct{})
	go func() { // ends with them; if they do not, the run ends
		defer close(done)
		crowd.Wait()
	}()
	select {
	case <-done:
		return false
	case <-time.After(hungAfter):
		return true
	}
}

func hang(who string) oracle.Violation {
	var stacks strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
	return oracle.Violation{Oracle: "progress", Text: fmt.Sprintf("%s: not back %v after the storm\n%s", who, hungAfter, stacks.String())}
}
