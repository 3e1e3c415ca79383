package faulttests

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// hammer has goroutines take and release a lock until stop is closed or one of them is refused
// for good, and returns what was not nil.
func hammer(t *testing.T, l *reentrant.Lock, goroutines int, hist *locktest.Tenures, stop <-chan struct{}) (wait func() []error) {
	var mu sync.Mutex
	var errs []error
	note := func(err error) {
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		}
	}
	var group sync.WaitGroup
	for i := range goroutines {
		group.Go(func() {
			for !ended(stop) {
				hold, err := l.Acquire(t.Context())
				if note(err); err != nil {
					if errors.Is(err, reentrant.ErrClosed) {
						return
					}
					continue
				}
				from := time.Now()
				runtime.Gosched()
				hist.Note(strconv.Itoa(i), hold, from)
				note(hold.Release(t.Context()))
			}
		})
	}
	return func() []error { group.Wait(); return errs }
}

// An operator forces the lock again and again while it is passed on at full speed, by the same
// Client and by another: holders are told, nobody waits for ever, and inside the Client no two have it.
func TestFault32BehindForced(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c, other := faultClient(t, s.Client(t), locktest.WriteBehind), faultClient(t, s.Client(t))
	var hist locktest.Tenures
	stop := make(chan struct{})
	wait := hammer(t, c.NewLock("l"), 8, &hist, stop)
	forced := 0
	for i := range 60 {
		before := c.Stats().Acquired
		redistest.Eventually(t, 5*time.Second, "the lock is passed on", func() bool { return c.Stats().Acquired > before+20 })
		freed, err := []*reentrant.Client{c, other}[i%2].NewLock("l").ForceUnlock(owner(t.Context(), "operator"))
		must(t, err)
		if freed {
			forced++
		}
	}
	close(stop)
	for _, err := range wait() {
		wants(t, err, reentrant.ErrLost)
	}
	t.Logf("%d tenures, forced %d times, %d losses", hist.Len(), forced, c.Stats().Losses)
	if c.Stats().Losses == 0 || forced == 0 {
		t.Error("nothing was lost: the workload does not show much")
	}
	hist.Disjoint(t, "forced")
	locktest.CloseQuickly(t, c)
	locktest.TidyWithin(t, s, 3*time.Second, "l")
}

// Close while the lock is passed on: every call ends, nothing is left held, and the lock is free.
func TestFault44BehindClose(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	for range 20 {
		c := faultClient(t, s.Client(t), locktest.WriteBehind)
		var hist locktest.Tenures
		wait := hammer(t, c.NewLock("l"), 8, &hist, nil)
		redistest.Eventually(t, 5*time.Second, "the lock is passed on", func() bool { return c.Stats().HandedOver > 20 })
		locktest.CloseQuickly(t, c)
		for _, err := range wait() {
			wants(t, err, reentrant.ErrClosed)
		}
		if got := locktest.Held(t, s, "l"); len(got) > 0 {
			t.Fatalf("after Close Redis has %v", got)
		}
		hist.Disjoint(t, "closed")
	}
}

// Calls end while the lock is on its way to them: it goes to those that stay, in their order.
func TestFault39BehindCancelled(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := faultClient(t, s.Client(t), locktest.WriteBehind)
	l := c.NewLock("l")
	for range 30 {
		hold, err := l.Acquire(owner(t.Context(), "first"))
		must(t, err)
		var stay []*locktest.Call
		var cancels []context.CancelFunc
		var leave []*locktest.Call
		for i := range 12 {
			ctx := owner(t.Context(), strconv.Itoa(i))
			if i%3 == 0 {
				stay = append(stay, locktest.CallIn(t, c, l, ctx))
				continue
			}
			ctx, cancel := context.WithCancel(ctx)
			cancels = append(cancels, cancel)
			leave = append(leave, locktest.CallIn(t, c, l, ctx))
		}
		var left atomic.Int64
		var group sync.WaitGroup
		for i := range leave {
			group.Go(func() { // granted first or cancelled first
				if hold := <-leave[i].Granted; hold != nil {
					if err := hold.Release(t.Context()); err != nil {
						t.Error(err)
					}
					return
				}
				left.Add(1)
				wants(t, leave[i].Err, reentrant.ErrNotAcquired, context.Canceled)
			})
			group.Go(cancels[i])
		}
		must(t, hold.Release(t.Context()))
		for _, call := range stay {
			must(t, call.Hold(t, 5*time.Second).Release(t.Context()))
		}
		group.Wait()
	}
	if st := c.Stats(); st.Losses > 0 || st.Waiting > 0 {
		t.Errorf("stats %+v", st)
	}
	locktest.TidyWithin(t, s, 3*time.Second, "l")
	locktest.CloseQuickly(t, c)
}

// A full Redis refuses to move the field, and renews and releases all the same: the lock is passed
// on, renewed and freed. When there is room again the field follows.
func TestFault30BehindFullRedis(t *testing.T) {
	t.Parallel()
	const lease = 6 * time.Second
	s := redistest.Start(t)
	r := &faultRig{s, faultproxy.Start(t, s.Addr())}
	r.warm(t)
	c := faultClient(t, s.Client(t), reentrant.WithLease(lease), locktest.WriteBehind)
	l := c.NewLock("l")
	hold, err := l.Acquire(owner(t.Context(), "a"))
	must(t, err)
	b, d := locktest.CallFor(t, c, l, "b"), locktest.CallFor(t, c, l, "d")
	s.Do(t, "CONFIG", "SET", "maxmemory", "1")
	must(t, hold.Release(t.Context()))
	hold = b.Hold(t, lease/2)
	before := c.Stats().Renewals
	redistest.Eventually(t, 5*time.Second, "it is renewed", func() bool { return c.Stats().Renewals > before })
	must(t, hold.Release(t.Context()))
	hold = d.Hold(t, lease/2)
	if got := locktest.Held(t, s, "l"); len(got) != 1 || got[hold.Owner()] != "" {
		t.Errorf("Redis has %v: it was not full", got)
	}
	s.Do(t, "CONFIG", "SET", "maxmemory", "0")
	follows(t, s, "l", hold, "1")
	must(t, hold.Release(t.Context()))
	if n := c.Stats().Losses; n > 0 {
		t.Errorf("%d losses", n)
	}
	locktest.TidyWithin(t, s, 3*time.Second, "l")
}
