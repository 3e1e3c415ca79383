package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/history"
	"github.com/redlatch/redlatch/internal/oracle"
)

const (
	// workers is how many each member has. The last two share an owner.
	workers = 4

	// toldWithin is how late the news of a loss may be in a process that runs as it should.
	toldWithin = 250 * time.Millisecond
)

// round is one storm and the calm after it.
type round struct {
	*arena
	n     int
	storm context.Context
	plan  [][]strike
}

// wait passes some time of the storm; false if that is over.
func (r *round) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.storm.Done():
		return false
	}
}

// sit passes some time, storm or not.
func (r *round) sit(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

// result is what a round has shown.
type result struct {
	round    int
	over     history.Instant
	history  history.History
	highest  map[string]int64 // before it
	requests oracle.Requests
	verdict  oracle.Verdict
	settled  time.Duration // from the end of the storm until all was tidy
	found    []oracle.Violation
}

// run runs the round and judges it.
func (a *arena) run(n int, span time.Duration) result {
	storm, end := context.WithTimeout(a.always, span)
	defer end()
	r := &round{arena: a, n: n, storm: storm, plan: draw(a.seed, n, span, len(a.members), namesOf(a.targets))}
	if a.sampled {
		r.plan = seen(r.plan)
	}
	began, before := time.Now(), a.sent()

	var nemesis, crowd, watch sync.WaitGroup
	watching, stop := context.WithCancel(a.always)
	watch.Go(func() { r.watch(watching) })
	watch.Go(func() { r.watchItself(watching) })
	for _, t := range a.targets {
		if t.kind == fair {
			watch.Go(func() { r.watchLine(watching, t.name) })
		}
	}
	for _, lane := range r.plan {
		nemesis.Go(func() { r.strike(lane) })
	}
	for _, m := range a.members {
		for i := range workers {
			w := &worker{r: r, m: m, name: fmt.Sprint(i), id: i, favourite: m.n + i, random: rand.New(rand.NewPCG(a.seed, uint64(n)<<32|uint64(m.n)<<16|uint64(i)))}
			if i >= workers-2 {
				w.name, w.shared = "pair", true
			}
			crowd.Go(w.run)
		}
	}
	nemesis.Wait()
	calm := a.log.Now()
	var found []oracle.Violation
	if hung(&crowd) {
		found = append(found, hang("workers of the round"))
	} else if r.rollCall(&crowd); hung(&crowd) {
		found = append(found, hang("a round of all clients on all locks"))
	} else {
		found = append(found, r.tidy()...)
	}
	over := a.log.Now()
	stop()
	watch.Wait()

	res := result{round: n, over: over, history: a.log.Take(), highest: make(map[string]int64), settled: over.Sub(calm)}
	for lock, token := range a.highest {
		res.highest[lock] = token
	}
	res.requests = oracle.Requests{Sent: a.sent() - before, Ops: calls(res.history), Groups: len(a.members) * len(a.targets), Span: time.Since(began)}
	res.found = append(found, r.judge(&res, calm, over)...)
	return res
}

// judge asks the oracles of histories.
func (r *round) judge(res *result, calm, over history.Instant) (found []oracle.Violation) {
	h := res.history
	res.verdict, found = oracle.Linearizable(h, r.highest, time.Minute)
	found = append(found, oracle.Overlap(h)...)
	found = append(found, oracle.Tokens(h, r.highest)...)
	found = append(found, oracle.Order(h)...)
	found = append(found, oracle.Losses(h)...)
	found = append(found, oracle.Told(h, toldWithin)...)
	found = append(found, oracle.Counts(h)...)
	found = append(found, oracle.Releases(h)...)
	found = append(found, oracle.Progress(h, calm, over, calmWithin)...)
	return append(found, oracle.Rate(res.requests)...)
}

// strike does what the plan says for one lane.
func (r *round) strike(lane []strike) {
	began := time.Now()
	for _, s := range lane {
		if !r.wait(s.at - time.Since(began)) {
			return
		}
		if s.client == history.Everyone {
			r.down.Lock()
		}
		if s.kind.prepare != nil {
			s.kind.prepare(r, s)
		}
		id := r.log.Begin(s.fault())
		s.kind.strike(r, s)
		r.log.End(id)
		if s.client == history.Everyone {
			r.down.Unlock()
		}
	}
}

// calls is how many calls on locks there were.
func calls(h history.History) (n int) {
	for _, op := range h.Ops {
		if op.Kind == history.Acquire || op.Kind == history.Release {
			n++
		}
	}
	return n
}
