package multilock_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// Callers with their members in opposite orders, and in any order, get along: all of
// them have their turns, nobody has many more than another, and nobody overlaps.
func TestFault55OppositeOrders(t *testing.T) {
	for _, quorum := range []bool{false, true} {
		t.Run(map[bool]string{false: "All", true: "Quorum"}[quorum], func(t *testing.T) {
			seed := uint64(time.Now().UnixNano())
			random := rand.New(rand.NewPCG(seed, 0))
			inVirtualTime(t, 5, func(t *testing.T, v *virtual) {
				const turns = 12
				var inside, mu sync.Mutex // no Lock may block here: time would stand still
				var wg sync.WaitGroup
				var ends []time.Duration
				began := time.Now()
				for p := range 4 {
					f := v.process()
					for c := range 2 {
						locks := f.locks(name)
						switch {
						case p == 1:
							slices.Reverse(locks)
						case p > 1:
							random.Shuffle(len(locks), func(i, j int) { locks[i], locks[j] = locks[j], locks[i] })
						}
						build := multilock.New
						if quorum {
							build = multilock.NewQuorum
						}
						l, err := build(locks...)
						must(t, err)
						wg.Go(func() {
							for n := range turns {
								if err := l.Lock(v.ctx); err != nil {
									t.Errorf("%d.%d, turn %d: %v", p, c, n, err)
									return
								}
								if !inside.TryLock() {
									t.Error("two are inside")
								}
								time.Sleep(5 * time.Millisecond)
								inside.Unlock()
								if err := l.Unlock(v.ctx); err != nil {
									t.Errorf("%d.%d, turn %d: %v", p, c, n, err)
								}
							}
							mu.Lock()
							ends = append(ends, time.Since(began))
							mu.Unlock()
						})
					}
				}
				wg.Wait()
				took := time.Since(began)
				ideal := 8 * turns * 5 * time.Millisecond
				t.Logf("seed %d: %d turns of 5 ms in %v; callers ended after %v", seed, 8*turns, took, ends)
				if took > 3*ideal {
					t.Errorf("took %v, %v would do", took, ideal)
				}
				if len(ends) > 0 && slices.Min(ends) < took/2 {
					t.Errorf("one had all its turns in half the time: %v", ends)
				}
			})
		})
	}
}

// Sets that overlap, as accounts do in transfers, with single locks among them. Nobody
// waits for ever, whatever the order of arguments.
func TestFault55OverlappingSets(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	inVirtualTime(t, 2, func(t *testing.T, v *virtual) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		inside := make(map[string]bool)
		enter := func(names []string, is bool) {
			mu.Lock()
			defer mu.Unlock()
			for _, n := range names {
				if inside[n] == is {
					t.Errorf("%s is %v already", n, is)
				}
				inside[n] = is
			}
		}
		slowest := time.Duration(0)
		for p := range 4 {
			f := v.process()
			for g := range 4 {
				random := rand.New(rand.NewPCG(seed, uint64(4*p+g)))
				wg.Go(func() {
					for range 15 {
						var names []string
						var locks []multilock.Locker
						for _, i := range random.Perm(6)[:1+random.IntN(3)] {
							names = append(names, fmt.Sprint("account:", i))
							locks = append(locks, f[i%2].NewLock(names[len(names)-1]))
						}
						l, err := multilock.New(locks...)
						if err != nil {
							t.Error(err)
							return
						}
						began := time.Now()
						if err := l.Lock(v.ctx); err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						slowest = max(slowest, time.Since(began))
						mu.Unlock()
						enter(names, true)
						time.Sleep(time.Duration(random.Int64N(int64(10 * time.Millisecond))))
						enter(names, false)
						if err := l.Unlock(v.ctx); err != nil {
							t.Error(err)
						}
					}
				})
			}
		}
		wg.Wait()
		t.Logf("seed %d: slowest of 240 took %v", seed, slowest)
		if slowest > 10*time.Second {
			t.Errorf("somebody waited for %v", slowest)
		}
	})
}

// One server by way of two Clients is no second vote, and not a lock that waits for itself:
// it is found out, whichever the kind, and nothing stays held.
func TestFault55OneServerTwice(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		a, b := v.process(), v.process()
		for _, build := range []func(...multilock.Locker) (*multilock.MultiLock, error){multilock.New, multilock.NewQuorum} {
			l, err := build(a[0].NewLock(name), a[1].NewLock(name), b[0].NewLock(name))
			must(t, err)
			ok, err := l.TryLock(v.ctx, 10*lease, 0)
			wants(t, err, multilock.ErrMembers, reentrant.ErrNotAcquired)
			if ok {
				must(t, l.Unlock(v.ctx))
			}
		}
		v.wantHolders("---", name, a, b)
	})
}

// A member that is somebody else's for long, whichever it is, does not keep a quorum
// from the rest: it may be what a dead process has left there.
func TestOrphanOnOneMember(t *testing.T) {
	inVirtualTime(t, 5, func(t *testing.T, v *virtual) {
		a, b := v.process(), v.process()
		l := a.quorum(t, name)
		for i, c := range b {
			orphan := c.NewLock(name)
			must(t, orphan.Lock(v.ctx))
			began := time.Now()
			must(t, l.Lock(v.ctx))
			t.Logf("member %d: %v", i, time.Since(began))
			if took := time.Since(began); took > 2*limit {
				t.Errorf("member %d: took %v", i, took)
			}
			must(t, l.Unlock(v.ctx))
			if ok, err := l.TryLock(v.ctx, 0, 0); !ok || err != nil {
				t.Errorf("TryLock: %v, %v", ok, err)
			}
			must(t, l.Unlock(v.ctx))
			if ok, err := l.TryLock(v.ctx, 20*time.Millisecond, 0); !ok || err != nil {
				t.Errorf("TryLock 20 ms: %v, %v", ok, err)
			}
			must(t, l.Unlock(v.ctx))
			must(t, orphan.Unlock(v.ctx))
		}
	})
}

// Somebody who comes again and again does not keep one out who waits.
func TestNoBarging(t *testing.T) {
	forBoth(t, 5, func(t *testing.T, v *virtual, lock func(fleet) *multilock.MultiLock) {
		greedy, modest := lock(v.process()), lock(v.process())
		must(t, greedy.Lock(v.ctx))
		waiter := begin(func() error { return modest.Lock(as(v.ctx, "modest")) })
		synctest.Wait()
		turns := 0
		for !over(waiter.done) {
			time.Sleep(20 * time.Millisecond)
			must(t, greedy.Unlock(v.ctx))
			ok, err := greedy.TryLock(v.ctx, 50*time.Millisecond, 0)
			must(t, err)
			if !ok {
				synctest.Wait()
				break
			}
			if turns++; turns > 20 {
				t.Fatalf("had %d turns while another waited", turns)
			}
		}
		<-waiter.done
		must(t, waiter.err)
		t.Logf("%d turns", turns)
		must(t, modest.Unlock(as(v.ctx, "modest")))
	})
}
