package multilock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// On real servers nothing may depend on how quick a busy machine is. The members' limit
// is what a silent server costs, so it is measured against a multiple.
const (
	realLease = 2 * time.Second
	realLimit = 300 * time.Millisecond
	soon      = 20 * time.Second
)

// servers are redis-server processes that keep nothing.
type servers []*redistest.Server

func startServers(t testing.TB, n int) (s servers) {
	t.Helper()
	for range n {
		s = append(s, redistest.Start(t))
	}
	return s
}

// process makes a Client on each server, as another process would.
func (s servers) process(t testing.TB, mods ...func(*redis.Options)) (f fleet) {
	t.Helper()
	return s.leased(t, realLease, mods...)
}

// leased is process for a test in which something has to be done before a renewal, or before
// the end of a lease.
func (s servers) leased(t testing.TB, lease time.Duration, mods ...func(*redis.Options)) (f fleet) {
	t.Helper()
	for _, server := range s {
		f = append(f, newClient(t, server.Client(t, mods...), reentrant.WithLease(lease)))
	}
	return f
}

// proxied is process with a proxy before each server.
func (s servers) proxied(t testing.TB) (f fleet, proxies []*faultproxy.Proxy) {
	t.Helper()
	for _, server := range s {
		p := faultproxy.Start(t, server.Addr())
		rdb := server.Client(t, func(o *redis.Options) {
			o.Addr = p.Addr()
			o.ReadTimeout = 500 * time.Millisecond
		})
		f = append(f, newClient(t, rdb, reentrant.WithLease(realLease)))
		proxies = append(proxies, p)
	}
	return f, proxies
}

// held lists which servers have the key.
func (s servers) held(t testing.TB, key string, except ...int) (held []int) {
	t.Helper()
	for i, server := range s {
		if slices.Contains(except, i) {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), soon)
		n, err := server.Admin().Exists(ctx, key).Result()
		cancel()
		if err != nil {
			t.Errorf("EXISTS on %s: %v", server.Addr(), err)
		}
		if n > 0 {
			held = append(held, i)
		}
	}
	return held
}

// freeSoon waits until no server has the key.
func (s servers) freeSoon(t testing.TB, key string, except ...int) {
	t.Helper()
	redistest.Eventually(t, soon, key+" is free on all servers", func() bool { return len(s.held(t, key, except...)) == 0 })
}

// members waits until a hold has so many members.
func wantMembers(t testing.TB, hold *multilock.Hold, n int) {
	t.Helper()
	redistest.Eventually(t, soon, fmt.Sprintf("%d members are held", n), func() bool {
		held := 0
		for _, m := range hold.Members() {
			if m.Held {
				held++
			}
		}
		return held == n
	})
}

func realOptions() []multilock.Option {
	return []multilock.Option{multilock.WithMemberLimit(realLimit)}
}

// mature waits until a quorum of new servers counts all of them.
func (f fleet) mature(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	hold, err := f.quorum(t, "mature", realOptions()...).Acquire(as(ctx, "mature"))
	must(t, err)
	wantMembers(t, hold, len(f))
	must(t, hold.Release(ctx))
}

// trouble is what happens to a server, and how it ends.
type trouble struct {
	name       string
	begin, end func(*redistest.Server)
}

var troubles = []trouble{
	{"killed", (*redistest.Server).Kill, (*redistest.Server).Restart},
	{"stopped", (*redistest.Server).Stop, (*redistest.Server).Continue},
	{"restarted", (*redistest.Server).Restart, func(*redistest.Server) {}},
}

// Each member is killed, stopped and restarted empty, before an acquisition and under a
// hold.
func TestFault53And54MemberInTrouble(t *testing.T) {
	for _, trouble := range troubles {
		for i := range 3 {
			t.Run(fmt.Sprint(trouble.name, i), func(t *testing.T) {
				t.Parallel()
				s := startServers(t, 3)
				f := s.process(t)
				f.mature(t)
				inTrouble(t, s, f, i, trouble)
			})
		}
	}
}

func inTrouble(t *testing.T, s servers, f fleet, i int, trouble trouble) {
	server := s[i]
	ctx, cancel := context.WithTimeout(t.Context(), 2*soon)
	defer cancel()
	all, quorum := f.all(t, "all", realOptions()...), f.quorum(t, "quorum", realOptions()...)

	// Under a hold.
	a, err := all.Acquire(ctx)
	must(t, err)
	q, err := quorum.Acquire(ctx)
	must(t, err)
	wantMembers(t, q, 3)
	trouble.begin(server)
	within(t, soon, "the loss of one member of all", a.Lost())
	wants(t, a.Release(ctx), reentrant.ErrLost)
	wantMembers(t, q, 2)

	// Before an acquisition.
	if trouble.name != "restarted" {
		began := time.Now()
		err := all.Lock(ctx)
		wants(t, err, reentrant.ErrNotAcquired)
		if !strings.Contains(fmt.Sprint(err), server.Addr()) {
			t.Errorf("does not name %s: %v", server.Addr(), err)
		}
		t.Logf("without %d: all failed after %v", i, time.Since(began))
	} else {
		must(t, all.Lock(ctx))
		must(t, all.Unlock(ctx))
	}
	second := f.quorum(t, "second", realOptions()...)
	for range 3 {
		began := time.Now()
		must(t, second.Lock(ctx))
		t.Logf("without %d: quorum after %v", i, time.Since(began))
		must(t, second.Unlock(ctx))
	}
	s.freeSoon(t, "second", i)
	if over(q.Lost()) {
		t.Fatalf("the quorum is lost: %v", q.Release(ctx))
	}

	// And afterwards: it is taken again, and nothing is left behind.
	trouble.end(server)
	wantMembers(t, q, 3)
	if over(q.Lost()) {
		t.Error("the quorum is lost")
	}
	must(t, q.Release(ctx))
	for _, key := range []string{"all", "quorum", "second"} {
		s.freeSoon(t, key)
	}
}

// The classic, on real servers: A holds 1, 2, 3; 3 restarts empty; B, a process that has
// never seen the old one, asks for 3, 4, 5. A cannot reach these three any more, so that it
// neither hears of the restart nor takes the other two before B has asked.
func TestFault57ClassicCounterExample(t *testing.T) {
	t.Parallel()
	const lease = 5 * time.Second // and the quarantine: B is to ask before it is over
	s := startServers(t, 5)
	ctx, cancel := context.WithTimeout(t.Context(), 3*soon)
	defer cancel()
	a, b := s.leased(t, lease), s.leased(t, lease)
	var proxies []*faultproxy.Proxy // of A, to 3, 4, 5
	for i := 2; i < 5; i++ {
		p := faultproxy.Start(t, s[i].Addr())
		a[i] = newClient(t, s[i].Client(t, func(o *redis.Options) { o.Addr = p.Addr() }), reentrant.WithLease(lease))
		proxies = append(proxies, p)
	}
	a.mature(t)
	for _, p := range proxies[1:] {
		p.Blackhole(true, true, faultproxy.Any)
	}
	hold, err := a.quorum(t, name, realOptions()...).Acquire(ctx)
	must(t, err)
	proxies[0].Blackhole(true, true, faultproxy.Any)
	restarted := time.Now()
	s[2].Restart()
	lb := b.quorum(t, name, realOptions()...)
	refused := 0
	var last error
	for range 20 {
		second, err := lb.Acquire(ctx, reentrant.WithWait(0))
		last = err
		if errors.Is(err, multilock.ErrQuarantined) {
			refused++
		}
		if err != nil {
			continue
		}
		// A machine too busy to renew may have cost A its hold: the first two are free then.
		if !over(hold.Lost()) && hold.ValidUntil().After(time.Now()) {
			t.Fatal("two hold it")
		}
		if second.Members()[2].Held && time.Since(restarted) < lease {
			t.Error("a server that has just been restarted was counted")
		}
		must(t, second.Release(ctx))
	}
	if refused == 0 {
		t.Errorf("never refused because of the quarantine in %v; the last time: %v", time.Since(restarted), last)
	}
	t.Logf("refused %d times of 20 for it", refused)
	for _, p := range proxies {
		p.Heal()
	}
	if err := hold.Release(ctx); err != nil { // unless the other two were taken in time
		wants(t, err, reentrant.ErrLost)
	}
	must(t, lb.Lock(ctx))
	must(t, lb.Unlock(ctx))
}

// Replies that are lost leave no member locked.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	s := startServers(t, 3)
	f, proxies := s.proxied(t)
	f.mature(t)
	for _, kind := range kinds {
		for first := range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), soon)
			key := fmt.Sprint(kind.name, first)
			l := kind.make(f, t, key, realOptions()...)
			// Executed, and never answered: by one member, then by two.
			var rules []*faultproxy.RuleHandle
			for _, p := range proxies[first:] {
				rules = append(rules, p.Add(faultproxy.Rule{
					Class: faultproxy.Command, Match: faultproxy.Named("EVALSHA", "EVAL"), Times: 1, Action: faultproxy.SwallowReply,
				}))
			}
			enough := first == 2 && kind.name == "Quorum"
			wait := time.Duration(0)
			if enough {
				wait = soon // for a machine that is too busy to answer within the limit
			}
			ok, err := l.TryLock(ctx, wait, 0)
			if ok != enough {
				t.Errorf("%s: %v, %v", key, ok, err)
			}
			if ok {
				must(t, l.Unlock(ctx))
			} else {
				wants(t, err, reentrant.ErrNotAcquired, multilock.ErrNoAnswer)
			}
			s.freeSoon(t, key)
			for _, r := range rules {
				r.Remove()
			}
			cancel()
		}
	}
}

// Two processes with opposite orders on real servers.
func TestFault55OppositeOrdersOnServers(t *testing.T) {
	t.Parallel()
	s := startServers(t, 3)
	ctx, cancel := context.WithTimeout(t.Context(), 3*soon)
	defer cancel()
	s.process(t).mature(t)
	for _, quorum := range []bool{false, true} {
		var history tenures
		var wg sync.WaitGroup
		began := time.Now()
		for p := range 2 {
			locks := s.process(t).locks(fmt.Sprint("opposite:", quorum))
			if p == 1 {
				slices.Reverse(locks)
			}
			l, err := multilock.NewWith(locks, realOptions()...)
			if quorum {
				l, err = multilock.NewQuorumWith(locks, realOptions()...)
			}
			must(t, err)
			for range 2 {
				wg.Go(func() {
					for range 25 {
						hold, err := l.Acquire(ctx)
						if err != nil {
							t.Error(err)
							return
						}
						end := history.begin(fmt.Sprint(p), hold)
						time.Sleep(time.Millisecond)
						end()
						if err := hold.Release(ctx); err != nil {
							t.Error(err)
						}
					}
				})
			}
		}
		wg.Wait()
		history.disjoint(t)
		t.Logf("quorum %v: %d turns of 1 ms in %v", quorum, history.len(), time.Since(began))
	}
}

// Servers are killed, stopped and restarted at random under processes that compete.
func TestFault54ChaosOnServers(t *testing.T) {
	t.Parallel()
	s := startServers(t, 5)
	ctx, cancel := context.WithTimeout(t.Context(), 2*soon)
	defer cancel()
	processes := []fleet{s.process(t, impatient), s.process(t, impatient), s.process(t, impatient)}
	processes[0].mature(t)

	var history tenures
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for p, f := range processes {
		l := f.quorum(t, name, realOptions()...)
		for range 2 {
			wg.Go(func() {
				for !over(stop) {
					attempt, cancel := context.WithTimeout(ctx, time.Second)
					hold, err := l.Acquire(attempt)
					cancel()
					if err != nil {
						continue
					}
					end := history.begin(fmt.Sprint(p), hold)
					select {
					case <-time.After(20 * time.Millisecond):
					case <-hold.Lost():
					}
					end()
					release, cancel := context.WithTimeout(ctx, time.Second)
					if err := hold.Release(release); err != nil && !errors.Is(err, reentrant.ErrLost) && !errors.Is(err, reentrant.ErrUnconfirmed) {
						t.Error(err)
					}
					cancel()
				}
			})
		}
	}
	for n := range 9 {
		server, trouble := s[n%5], troubles[n%3]
		trouble.begin(server)
		pause(500 * time.Millisecond)
		trouble.end(server)
		pause(300 * time.Millisecond)
	}
	close(stop)
	wg.Wait()
	history.disjoint(t)
	t.Logf("%d holds", history.len())
	if history.len() == 0 {
		t.Error("nobody ever held it")
	}
	s.freeSoon(t, name)
}

// impatient is for servers that go away: go-redis waits 3 s for a reply by default.
func impatient(o *redis.Options) { o.ReadTimeout = 500 * time.Millisecond }

// pause lets the others work.
func pause(d time.Duration) { <-time.After(d) }

// A member that waits for replicas has the time for it on top of its limit.
func TestReplicaAcks(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	replica := redistest.Start(t, redistest.WithReplicaOf(master))
	replica.Follows(t, master)
	c := newClient(t, master.Client(t), reentrant.WithLease(realLease), reentrant.WithReplicaAcks(1, realLease/4))
	l, err := multilock.New(c.NewLock("x"), c.NewLock("y"))
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	must(t, l.Lock(ctx))
	must(t, l.Unlock(ctx))
	replica.Stop()
	wants(t, l.Lock(ctx), reentrant.ErrNotAcquired, reentrant.ErrReplicas)
	servers{master}.freeSoon(t, "x")
	servers{master}.freeSoon(t, "y")
}
