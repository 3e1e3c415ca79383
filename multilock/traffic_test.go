package multilock_test

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// traffic is two goroutines for each of several locks. They hold it in turn, without a pause,
// until stop is called.
type traffic struct {
	cancel  context.CancelFunc
	callers []*pending
}

// plainTraffic begins to hold n locks, by(i), for that time each time. When it returns each caller
// has held its lock once.
func plainTraffic(ctx context.Context, by func(i int) *reentrant.Lock, n int, hold time.Duration) *traffic {
	ctx, cancel := context.WithCancel(ctx)
	tr := &traffic{cancel: cancel}
	var first sync.WaitGroup
	defer first.Wait()
	for i := range n {
		for range 2 {
			l := by(i)
			first.Add(1)
			began := sync.OnceFunc(first.Done)
			tr.callers = append(tr.callers, begin(func() error {
				defer began()
				for l.Lock(ctx) == nil {
					began()
					time.Sleep(hold)
					if err := l.Unlock(context.WithoutCancel(ctx)); err != nil {
						return err
					}
				}
				return nil
			}))
		}
	}
	return tr
}

func (tr *traffic) stop(t testing.TB) {
	t.Helper()
	tr.cancel()
	for _, c := range tr.callers {
		<-c.done
		if c.err != nil {
			t.Errorf("a plain caller: %v", c.err)
		}
	}
}

// inTraffic is what calls on n locks wait for while others hold each of them in turn.
type inTraffic struct {
	n       int
	hold    time.Duration
	same    bool          // the others are of the same Client
	quorum  bool          // of locks on as many servers; otherwise all, on one
	lease   time.Duration // fixed; 0: renewed
	clients time.Duration // lease of the Clients; 0: 30 s
	nested  bool          // as the member of another MultiLock
	limited bool          // TryLock, for as long as is allowed
}

func (s inTraffic) String() string {
	name := fmt.Sprintf("%d of %v", s.n, s.hold)
	for _, is := range []struct {
		so   bool
		what string
	}{{s.quorum, "quorum"}, {s.same, "same"}, {s.lease != 0, "fixed"}, {s.nested, "nested"}, {s.limited, "limited"}} {
		if is.so {
			name += " " + is.what
		}
	}
	return name
}

// takes is how often a MultiLock is taken. One wait says little: what happens at one virtual instant has no
// order, so the waits of equal callers are spread like the tosses until a coin shows heads.
const takes = 6

// run lets plain callers wait for one lock after the other, and then a MultiLock for all. Its
// waits have to be within 5 times the sum of theirs on average, and each within 20 times.
func (s inTraffic) run(t *testing.T) {
	servers := 1
	if s.quorum {
		servers = s.n
	}
	inVirtualTime(t, servers, func(t *testing.T, v *virtual) {
		leased := reentrant.WithLease(cmp.Or(s.clients, 30*time.Second))
		mine := v.processWith(nil, leased)
		others := mine
		if !s.same {
			others = v.processWith(nil, leased)
		}
		lock := func(f fleet, i int) *reentrant.Lock {
			if s.quorum {
				return f[i].NewLock(name)
			}
			return f[0].NewLock(fmt.Sprint("account:", i))
		}
		tr := plainTraffic(v.ctx, func(i int) *reentrant.Lock { return lock(others, i) }, s.n, s.hold)
		defer tr.stop(t)
		me := as(v.ctx, "me")
		var members []multilock.Locker
		sum := time.Duration(0)
		for i := range s.n {
			l := lock(mine, i)
			members = append(members, l)
			v.pass(3*s.hold + s.hold/3)
			sum += waitOf(t, me, l.Lock, l.Unlock)
		}
		s.takeOften(t, v, me, s.build(t, members), sum)
	})
}

func (s inTraffic) takeOften(t *testing.T, v *virtual, me context.Context, l *multilock.MultiLock, sum time.Duration) {
	all := time.Duration(0)
	for range takes {
		v.pass(3*s.hold + s.hold/3)
		ctx, cancel := context.WithTimeout(me, 20*sum)
		var release func(context.Context) error
		took := waitOf(t, ctx, func(ctx context.Context) (err error) {
			release, err = s.take(ctx, l, 20*sum)
			return err
		}, func(ctx context.Context) error { return release(ctx) })
		cancel()
		if t.Failed() {
			return
		}
		t.Logf("%v: granted after %v, plain callers waited %v in all: %.2f", s, took, sum, float64(took)/float64(sum))
		all += took
	}
	if all > takes*5*sum {
		t.Errorf("%v: granted after %v on average, plain callers waited %v in all", s, all/takes, sum)
	}
}

func (s inTraffic) build(t testing.TB, members []multilock.Locker) *multilock.MultiLock {
	build := multilock.New
	if s.quorum {
		build = multilock.NewQuorum
	}
	l, err := build(members...)
	must(t, err)
	if s.nested {
		l, err = multilock.New(l)
		must(t, err)
	}
	return l
}

func (s inTraffic) take(ctx context.Context, l *multilock.MultiLock, limit time.Duration) (release func(context.Context) error, err error) {
	var opts []reentrant.AcquireOption
	if s.limited {
		opts = append(opts, reentrant.WithWait(limit))
	} else if s.lease != 0 {
		opts = append(opts, reentrant.WithFixedLease(s.lease))
	}
	h, err := l.Acquire(ctx, opts...)
	if err != nil {
		return nil, err
	}
	if left := time.Until(h.ValidUntil()); s.lease != 0 && left < s.lease*9/10 {
		return nil, fmt.Errorf("granted with %v left of a lease of %v", left, s.lease)
	}
	return h.Release, nil
}

// waitOf takes a lock and gives it back.
func waitOf(t testing.TB, ctx context.Context, lock, unlock func(context.Context) error) time.Duration {
	t.Helper()
	began := time.Now()
	err := lock(ctx)
	took := time.Since(began)
	if err != nil {
		t.Errorf("not granted: %v", err)
		return took
	}
	must(t, unlock(ctx))
	return took
}

// A MultiLock is granted on average within 5 times what plain callers wait for its members one after the other,
// whatever other callers use these and for how long: they need no patience for it.
func TestGrantedInPlainTraffic(t *testing.T) {
	const ms = time.Millisecond
	for _, s := range []inTraffic{
		{n: 2, hold: 1 * ms}, {n: 2, hold: 100 * ms},
		{n: 3, hold: 30 * ms}, {n: 5, hold: 8 * ms}, {n: 5, hold: 100 * ms},
		{n: 2, hold: 100 * ms, same: true}, {n: 3, hold: 30 * ms, same: true}, {n: 5, hold: 100 * ms, same: true},
		{n: 3, hold: 8 * ms, quorum: true}, {n: 3, hold: 100 * ms, quorum: true}, {n: 5, hold: 30 * ms, quorum: true},
		{n: 5, hold: 100 * ms, quorum: true, same: true},
		{n: 2, hold: 8 * ms, nested: true},
		{n: 2, hold: 20 * ms, limited: true},
	} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel() // with bubbles alone: the tests on servers begin when this one has ended
			s.run(t)
		})
	}
}

// The case that was reported.
func TestGrantedBehindHoldsOf8ms(t *testing.T) {
	inTraffic{n: 2, hold: 8 * time.Millisecond}.run(t)
}

// Members with a fixed lease are kept too, and it is whole at the grant.
func TestFixedLeaseInPlainTraffic(t *testing.T) {
	for _, quorum := range []bool{false, true} {
		inTraffic{n: 3, hold: 20 * time.Millisecond, lease: 2 * time.Second, quorum: quorum}.run(t)
	}
}

// A quorum that keeps members for longer than it may trust their servers' answers asks again. It does not
// end with a hold that nobody can trust.
func TestQuorumKeepsMembersForLongerThanTheLease(t *testing.T) {
	inTraffic{n: 3, hold: 100 * time.Millisecond, quorum: true, clients: lease}.run(t)
}

// The same on a real server, where the others are another process' as far as Redis can tell.
func TestGrantedInPlainTrafficOnAServer(t *testing.T) {
	t.Parallel()
	s := startServers(t, 1)
	mine, others := s.process(t)[0], s.process(t)[0]
	lock := func(c *reentrant.Client, i int) *reentrant.Lock { return c.NewLock(fmt.Sprint("account:", i)) }
	tr := plainTraffic(t.Context(), func(i int) *reentrant.Lock { return lock(others, i) }, 2, 8*time.Millisecond)
	defer tr.stop(t)
	l, err := multilock.New(lock(mine, 0), lock(mine, 1))
	must(t, err)
	for range 3 {
		if t.Failed() {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		t.Logf("granted after %v", waitOf(t, ctx, l.Lock, l.Unlock))
		cancel()
	}
}
