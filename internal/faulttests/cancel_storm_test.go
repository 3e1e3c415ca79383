package faulttests

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// Ten thousand calls whose ctx ends at a random moment, wherever they are by then:
// each returns at once, and nothing of them stays behind.
func TestFault39CancelStorm(t *testing.T) {
	t.Parallel()
	const goroutines, locks = 32, 5
	rounds := 10_000 / goroutines
	if testing.Short() {
		rounds /= 10
	}
	seed := uint64(time.Now().UnixNano())
	noise := listenToNoise(t)
	s := redistest.Start(t)
	clients := []*reentrant.Client{faultClient(t, s.Client(t)), faultClient(t, s.Client(t), locktest.WriteBehind)}
	var late latencies
	var cancelled, held atomic.Int64
	var group sync.WaitGroup
	for g := range goroutines {
		group.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(g)))
			for range rounds {
				l := clients[random.IntN(2)].NewLock("storm:" + strconv.Itoa(random.IntN(locks)))
				returned, ok := cancelAtRandom(t, random, l)
				if returned >= 0 {
					cancelled.Add(1)
					late.add(returned)
				}
				if ok {
					held.Add(1)
				}
			}
		})
	}
	group.Wait()
	t.Logf("seed %d: %d calls cut short, %d granted; returned after the cancellation: %v",
		seed, cancelled.Load(), held.Load(), &late)
	if p := late.at(.99); p > noise.allow(20*time.Millisecond) { // under 10 ms where nothing else runs
		t.Errorf("seed %d: one in a hundred returned more than %v after its cancellation", seed, p)
	}
	if worst := late.at(1); worst > noise.allow(500*time.Millisecond) {
		t.Errorf("seed %d: a call returned %v after its cancellation", seed, worst)
	}
	var names []string
	for i := range locks {
		names = append(names, "storm:"+strconv.Itoa(i))
	}
	for i, c := range clients {
		redistest.Eventually(t, 5*time.Second, "nobody holds or waits", func() bool {
			st := c.Stats()
			return st.Held == 0 && st.Waiting == 0
		})
		if st := c.Stats(); st.Losses > 0 {
			t.Errorf("seed %d: client %d lost %d holds", seed, i, st.Losses)
		}
	}
	locktest.TidyWithin(t, s, 3*time.Second, names...)
	for _, c := range clients {
		locktest.CloseQuickly(t, c)
	}
	if n := s.Do(t, "KEYS", "redlatch_waiters:*").([]any); len(n) > 0 {
		t.Errorf("seed %d: clients that are gone are registered as waiters: %v", seed, n)
	}
}

// cancelAtRandom makes one call, ends its ctx, and unlocks what it was granted. It
// returns how long after its cancellation the call came back, or a negative number
// if it came back before; and whether it was granted.
func cancelAtRandom(t *testing.T, random *rand.Rand, l *reentrant.Lock) (returned time.Duration, granted bool) {
	base := t.Context()
	ctx, cancel := context.WithCancel(base)
	defer cancel()
	var at atomic.Int64
	begin := time.Now()
	timer := time.AfterFunc(time.Duration(random.Int64N(int64(3*time.Millisecond))), func() {
		at.Store(int64(time.Since(begin)))
		cancel()
	})
	defer timer.Stop()
	pause := func() {
		if random.IntN(4) == 0 {
			time.Sleep(time.Duration(random.Int64N(int64(500 * time.Microsecond))))
		}
	}

	var err error
	var back time.Duration
	switch kind := random.IntN(4); kind {
	case 0, 3:
		if err = l.Lock(ctx); err == nil {
			pause()
			if kind == 3 { // nested, cancelled on the way in
				err = l.Lock(ctx)
				back = time.Since(begin)
				if err == nil {
					unlockCleanly(t, l.Unlock(base))
				}
				unlockCleanly(t, l.Unlock(base))
				granted = true
			} else {
				unlockCleanly(t, l.Unlock(base))
				granted = true
			}
		}
	case 1:
		if granted, err = l.TryLock(ctx, time.Second, 0); granted {
			pause()
			unlockCleanly(t, l.Unlock(base))
		}
	case 2:
		var hold *reentrant.Hold
		if hold, err = l.Acquire(ctx, reentrant.WithFixedLease(20*time.Second)); err == nil {
			granted = true
			pause()
			unlockCleanly(t, hold.Release(base))
		}
	}
	if back == 0 {
		back = time.Since(begin)
	}
	if err == nil {
		return -1, granted
	}
	if !errors.Is(err, reentrant.ErrNotAcquired) || !errors.Is(err, context.Canceled) {
		t.Errorf("a call whose ctx ended returned %v", err)
	}
	return back - time.Duration(at.Load()), granted
}

func unlockCleanly(t *testing.T, err error) {
	if err != nil {
		t.Errorf("unlock: %v", err)
	}
}
