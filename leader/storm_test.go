package leader_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/redistest"
)

// stormLease is short: many leads are lost.
const stormLease = 900 * time.Millisecond

// storm torments three candidates, each of them by a way of its own to Redis, by a schedule that a seed repeats.
type storm struct {
	t       *testing.T
	random  *rand.Rand
	server  *redistest.Server // nil with Sentinels
	spec    spec
	targets []string // the addresses of Redis

	seats       []*seat
	dead        []*candidate // killed, and replaced
	forgettings []forgetting
	strikes     map[string]int
}

// seat is a candidate, or those that came one after the other.
type seat struct {
	*candidate
	ways []*faultproxy.Proxy
	spec spec
}

// through calls f with each way of the candidate to Redis.
func (s *seat) through(f func(*faultproxy.Proxy)) {
	for _, way := range s.ways {
		f(way)
	}
}

// fault is one way to do harm, to the seat that leads as a rule.
type fault struct {
	name   string
	weight int
	strike func(s *storm, at *seat, d time.Duration)
	single bool // only of a single server
}

var faults = []fault{
	{name: "stopped", weight: 6, strike: func(s *storm, at *seat, d time.Duration) { at.stopFor(func() { wait(d) }) }},
	{name: "killed", weight: 1, strike: (*storm).replace},
	{name: "cut off", weight: 4, strike: gate(true, true, faultproxy.Any)},
	{name: "requests late", weight: 3, strike: gate(true, false, faultproxy.Any)},
	{name: "answers late", weight: 3, strike: gate(false, true, faultproxy.Any)},
	{name: "deaf", weight: 1, strike: gate(true, true, faultproxy.PubSub)},
	{name: "refused", weight: 2, strike: refuse},
	{name: "cut off, then stopped", weight: 2, strike: func(s *storm, at *seat, d time.Duration) {
		at.through(func(p *faultproxy.Proxy) { p.Blackhole(true, true, faultproxy.Any) })
		wait(d / 2)
		at.stopFor(func() { wait(d / 2) })
		at.through((*faultproxy.Proxy).Heal)
	}},
	{name: "server stopped", weight: 2, single: true, strike: func(s *storm, at *seat, d time.Duration) {
		s.server.Stop()
		wait(d)
		s.server.Continue()
	}},
	{name: "lock forgotten", weight: 2, single: true, strike: forget},
}

func gate(up, down bool, class faultproxy.Class) func(*storm, *seat, time.Duration) {
	return func(_ *storm, at *seat, d time.Duration) {
		at.through(func(p *faultproxy.Proxy) { p.Blackhole(up, down, class) })
		wait(d)
		at.through((*faultproxy.Proxy).Heal)
	}
}

func refuse(_ *storm, at *seat, d time.Duration) {
	at.through(func(p *faultproxy.Proxy) { p.Refuse(true); p.CloseAll(faultproxy.Any) })
	wait(d)
	at.through(func(p *faultproxy.Proxy) { p.Refuse(false) })
}

// forget deletes the lock's key: what a failover that loses the lock does.
func forget(s *storm, _ *seat, d time.Duration) {
	from := time.Now()
	s.server.Do(s.t, "DEL", name)
	s.forgettings = append(s.forgettings, forgetting{span{from, time.Now()}, stormLease})
	wait(d)
}

func wait(d time.Duration) { <-time.After(d) }

// newStorm seats the candidates.
func newStorm(t *testing.T, seed uint64, server *redistest.Server, base spec, targets ...string) *storm {
	t.Helper()
	s := &storm{
		t: t, random: rand.New(rand.NewPCG(seed, 0)), server: server, spec: base, targets: targets, strikes: make(map[string]int),
	}
	for n := range 3 {
		at := &seat{spec: base}
		at.spec.Via = make(map[string]string)
		for _, target := range targets {
			way := faultproxy.Start(t, target)
			at.ways = append(at.ways, way)
			at.spec.Via[target] = way.Addr()
		}
		at.candidate = start(t, fmt.Sprint("candidate ", n), at.spec)
		s.seats = append(s.seats, at)
	}
	leads(t, 0, s.all()...)
	return s
}

// all are the candidates of all seats, those too that were killed.
func (s *storm) all() (all []*candidate) {
	for _, at := range s.seats {
		all = append(all, at.candidate)
	}
	return append(all, s.dead...)
}

// replace kills a candidate, and starts another one after a while.
func (s *storm) replace(at *seat, d time.Duration) {
	at.kill()
	s.dead = append(s.dead, at.candidate)
	wait(d)
	at.candidate = start(s.t, fmt.Sprintf("%s'", at.name), at.spec)
}

// leading is the seat that has led last.
func (s *storm) leading() *seat {
	last := s.seats[0]
	for _, at := range s.seats {
		if at.latest().to.After(last.latest().to) {
			last = at
		}
	}
	return last
}

// blow strikes until the time is over.
func (s *storm) blow(until time.Time) {
	for time.Now().Before(until) && !s.t.Failed() {
		at, other := s.leading(), s.seats[s.random.IntN(len(s.seats))]
		if s.random.IntN(4) == 0 {
			at = other
		}
		f := s.pick()
		s.strikes[f.name]++
		// A twentieth of the lease to twice the lease.
		f.strike(s, at, stormLease/20+time.Duration(s.random.Int64N(int64(2*stormLease))))
		wait(time.Duration(s.random.Int64N(int64(stormLease / 2))))
	}
}

// pick draws a fault by weight.
func (s *storm) pick() fault {
	var drawn []fault
	for _, f := range faults {
		if !f.single || s.server != nil {
			drawn = append(drawn, slices.Repeat([]fault{f}, f.weight)...)
		}
	}
	return drawn[s.random.IntN(len(drawn))]
}

// calm wants that somebody leads now that all faults are over, ends all, and judges.
func (s *storm) calm() {
	s.t.Helper()
	over := time.Now()
	redistest.Eventually(s.t, 30*time.Second, "somebody leads again", func() bool { return s.leading().latest().to.After(over) })
	for _, at := range s.seats {
		at.end()
	}
	judgeAll(s.t, s.forgettings, s.all()...)
	s.t.Logf("%v", s.strikes)
}

// Leaders are stopped, killed and cut off from Redis, and Redis is stopped and forgets the lock. Each resigns after 400 ms, so
// the lead also changes without a fault. Never two are told that they lead at the same instant. With -for it goes on in rounds of
// ten seconds, and in every second round a Sentinel group fails over.
func TestStorm(t *testing.T) {
	needSignals(t)
	t.Parallel()
	seed := *stormSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	round, end := 4*time.Second, time.Now().Add(*stormFor)
	if *stormFor > 0 {
		round = 10 * time.Second
	}
	for n := uint64(0); n == 0 || time.Now().Before(end); n++ {
		passed := t.Run(fmt.Sprint("round ", n), func(t *testing.T) {
			if n%2 == 1 {
				stormOverFailover(t, seed+n, round)
				return
			}
			server := redistest.Start(t)
			s := newStorm(t, seed+n, server, spec{Redis: server.Addr(), Lease: stormLease, Term: 400 * time.Millisecond}, server.Addr())
			s.blow(time.Now().Add(round))
			s.calm()
		})
		if !passed {
			return
		}
	}
}

// stormOverFailover kills the master in the middle of the storm, in half of all rounds with a replica that has heard nothing
// of late. Also otherwise a grant may be lost: replication is asynchronous.
func stormOverFailover(t *testing.T, seed uint64, round time.Duration) {
	group, relay := redistest.StartSentinelRelayed(t)
	base := spec{Sentinels: group.Addrs, Lease: stormLease, Term: 400 * time.Millisecond}
	s := newStorm(t, seed, nil, base, relay.Addr(), group.Replica.Addr())
	s.blow(time.Now().Add(round / 3))
	from := time.Now()
	if s.random.IntN(2) == 0 {
		relay.CutReplicas()
		s.blow(time.Now().Add(round / 6))
	}
	group.Master.Kill()
	s.forgettings = append(s.forgettings, forgetting{span{from, time.Now()}, stormLease})
	s.blow(time.Now().Add(round / 3))
	group.AwaitPromotion(t)
	s.blow(time.Now().Add(round / 6))
	s.calm()
}
