package leader_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/child"
	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/redistest"
)

func needSignals(t *testing.T) {
	t.Helper()
	if !child.CanStop {
		t.Skip("processes are not stopped there")
	}
}

// A leader is stopped past its lease, and another one leads. When the first one goes on, its first look says that it does
// not lead. So for a leader that is killed, and for a Redis that is stopped past the lease.
func TestStoppedAndKilledLeaders(t *testing.T) {
	needSignals(t)
	t.Parallel()
	const lease = time.Second
	s := redistest.Start(t)
	spec := spec{Redis: s.Addr(), Lease: lease}
	a := start(t, "a", spec)
	_, stopped := leads(t, 0, a)
	b, c := start(t, "b", spec), start(t, "c", spec)
	all := []*candidate{a, b, c}

	var next *candidate
	var token int64
	a.stopFor(func() { next, token = leads(t, stopped, b, c) })
	continued := time.Now()

	s.Stop()
	redistest.Eventually(t, 30*time.Second, "the leader to stop when its lease is over", func() bool {
		return time.Since(next.latest().to) > lease*3/2
	})
	s.Continue()
	next, token = leads(t, token, all...)

	next.kill()
	rest := others(all, next)
	leads(t, token, rest...)
	judgeAll(t, nil, all...)
	for _, term := range a.seen() {
		if term.token == stopped && term.to.After(continued) {
			t.Errorf("the stopped leader led on when it was continued: %v", term)
		}
	}
	for _, other := range rest {
		other.end()
	}
}

// What a leader can still do that was stopped between its look and its write: it writes, though another one leads. It has not
// looked again by then. A resource that remembers the highest token refuses it, and any other one does not notice.
func TestStoppedLeaderWrites(t *testing.T) {
	needSignals(t)
	t.Parallel()
	s := redistest.Start(t)
	const lease = time.Second
	a := start(t, "a", spec{Redis: s.Addr(), Lease: lease, Hesitant: true})
	_, old := leads(t, 0, a)
	b := start(t, "b", spec{Redis: s.Addr(), Lease: lease})
	var token int64
	a.stopFor(func() {
		_, token = leads(t, old, b)
		_, err := a.in.Write([]byte("w")) // it reads that when it goes on
		must(t, err)
	})
	var write report
	redistest.Eventually(t, 10*time.Second, "the write", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		if len(a.writes) > 0 {
			write = a.writes[0]
		}
		return write.Wrote
	})
	if term := b.latest(); !write.After.After(term.from) {
		t.Errorf("it wrote at %v, before %v: that shows nothing", write.After, &term)
	}
	// The resource has seen the present leader's token.
	if write.Term != old || write.Term >= token {
		t.Errorf("the resource does not refuse token %d beside %d", write.Term, token)
	}
	judgeAll(t, nil, a, b) // it was not told that it led when it wrote
	a.end()
	b.end()
}

// A candidate that does not look is found out by the oracle: its way to Redis is cut for longer than the lease.
func TestJudgeSeesATrustingLeader(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	way := faultproxy.Start(t, s.Addr())
	const lease = 600 * time.Millisecond
	a := start(t, "a", spec{Redis: way.Addr(), Lease: lease, Trusting: true})
	_, token := leads(t, 0, a)
	b := start(t, "b", spec{Redis: s.Addr(), Lease: lease})
	way.Blackhole(true, true, faultproxy.Any)
	leads(t, token, b)
	redistest.Eventually(t, 10*time.Second, "both lead", func() bool {
		return len(judge(append(a.seen(), b.seen()...), nil)) > 0
	})
	way.Heal()
	a.end()
	b.end()
}

// start3 starts three candidates.
func start3(t *testing.T, s spec) (all []*candidate) {
	t.Helper()
	for n := range 3 {
		all = append(all, start(t, fmt.Sprint("candidate ", n), s))
	}
	return all
}
