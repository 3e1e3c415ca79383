package reentrant_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/reentrant"
)

// settled checks that each hold that was told of began with Acquired and, but for so many, ended with one
// event. The end of one hold may be told after the Acquired of the owner's next: nobody waits for an event
// function, so there is an order of the events of one hold, and none between two.
func (j *journal) settled(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, held int) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	open := make(map[string]int)
	for i, kind := range j.kinds {
		e := j.events[i]
		owner, by := e.Owner, 0
		switch kind {
		case "acquired":
			by = 1
		case "handed over":
			owner, by = e.From, -1
		case "released", "unconfirmed", "lost":
			by = -1
		}
		if open[owner] += by; open[owner] < 0 {
			t.Fatalf("event %d, %s: the end of a hold of %s that was not told to begin; %q", i, kind, owner, j.kinds)
		}
	}
	n := 0
	for _, count := range open {
		n += count
	}
	if n != held {
		t.Fatalf("%d holds began and were not told to end, want %d: %q", n, held, j.kinds)
	}
}

// slowly is journal.all with an Acquired that takes its time before it is noted.
func (j *journal) slowly(d time.Duration) reentrant.Option {
	acquired := j.note("acquired")
	return reentrant.WithEvents(reentrant.Events{
		Acquired:  func(e reentrant.Event) { time.Sleep(d); acquired(e) },
		Reentered: j.note("re-entered"), HandedOver: j.note("handed over"), Renewed: j.note("renewed"),
		Lost: j.note("lost"), Released: j.note("released"), Unconfirmed: j.note("unconfirmed"),
	})
}

// While Acquired is told the lock may be lost, or released by another goroutine of the same owner: that is told
// afterwards.
func TestTimeAcquiredComesFirst(t *testing.T) {
	const slow = 3 * lease
	for name, run := range map[string]func(t *testing.T, v *virtual, j *journal){
		"lost": func(t *testing.T, v *virtual, j *journal) {
			l := v.client(j.slowly(slow)).NewLock("job")
			must(t, l.LockLease(v.ctx, lease))
			j.take(t, "acquired", "lost")
		},
		"renewed and forced": func(t *testing.T, v *virtual, j *journal) {
			l := v.client(j.slowly(slow)).NewLock("job")
			call := begin(func() error { return l.Lock(v.ctx) })
			v.pass(lease / 2)
			v.mini.Del("job")
			must(t, call.wait())
			j.take(t, "acquired", "renewed", "lost")
		},
		"handed over and lost": func(t *testing.T, v *virtual, j *journal) {
			l := v.client(j.slowly(slow)).NewLock("job")
			must(t, l.Lock(owner(v.ctx, "a")))
			call := begin(func() error { return l.LockLease(owner(v.ctx, "b"), lease) })
			v.pass(0)
			must(t, l.Unlock(owner(v.ctx, "a")))
			must(t, call.wait())
			j.mu.Lock()
			kinds := j.kinds[len(j.kinds)-3:]
			j.mu.Unlock()
			if kinds[0] != "handed over" || kinds[1] != "acquired" || kinds[2] != "lost" {
				t.Errorf("%q", kinds)
			}
			j.settled(t, 0)
		},
		"passed on by a caller of the same owner": func(t *testing.T, v *virtual, j *journal) {
			l := v.client(j.slowly(slow), locktest.WriteBehind).NewLock("job")
			a := owner(v.ctx, "a")
			first := begin(func() error { return locktest.Tried(l.TryLock(a, time.Millisecond, 0)) }) // its limit ends while Acquired is told
			v.pass(5 * time.Millisecond)
			must(t, first.wait())
			next := begin(func() error { return l.Lock(owner(v.ctx, "b")) })
			v.pass(0)
			must(t, l.Unlock(a))
			must(t, next.wait())
			must(t, l.Unlock(owner(v.ctx, "b")))
			v.pass(2 * slow)
			j.take(t, "acquired", "handed over", "acquired", "released")
		},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) { run(t, v, &journal{}) })
		})
	}
}

// A release that Redis does not confirm, and a hold that is left when the Client is closed, end with an event too.
func TestTimeEventOfAnUnconfirmedRelease(t *testing.T) {
	for _, mode := range []reentrant.Handoff{reentrant.Confirmed, reentrant.WriteBehind} {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			j := &journal{}
			c := v.client(j.all(), reentrant.WithHandoff(mode))
			l := c.NewLock("job")
			must(t, l.Lock(v.ctx))
			v.pass(lease / 10)
			v.refuseAll(loading)
			wants(t, l.Unlock(v.ctx), reentrant.ErrUnconfirmed)
			e := j.take(t, "acquired", "unconfirmed")[1]
			var why *reentrant.UnconfirmedError
			if !errors.As(e.Err, &why) || why.FreeAfter == 0 || e.Name != "job" || e.Held < lease/10 {
				t.Errorf("event %+v", e)
			}
			v.refuseAll("")
			v.pass(2 * lease)
			j.take(t)

			must(t, l.Lock(v.ctx))
			ctx, cancel := context.WithTimeout(v.ctx, lease)
			defer cancel()
			wants(t, c.Close(ctx), context.DeadlineExceeded)
			j.mu.Lock()
			e = j.events[len(j.events)-1]
			j.mu.Unlock()
			if !errors.Is(e.Err, reentrant.ErrUnconfirmed) || !errors.Is(e.Err, reentrant.ErrClosed) {
				t.Errorf("event %+v", e)
			}
			j.settled(t, 0)
		})
	}
}

// Whatever calls come, and whatever Redis does, a gauge made from events is the number of holds.
func TestTimeGaugeOfEvents(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		rapid.Check(struct{ testing.TB }{t}, func(rt *rapid.T) {
			v.onCommand(nil)
			v.mini.FlushAll()
			j := &journal{}
			mode := rapid.SampledFrom([]reentrant.Handoff{reentrant.Confirmed, reentrant.Remote, reentrant.WriteBehind}).Draw(rt, "mode")
			c, err := reentrant.New(v.rdb[0], reentrant.WithLease(lease), reentrant.WithHandoff(mode), j.slowly(rapid.SampledFrom([]time.Duration{0, 0, lease / 50, lease}).Draw(rt, "slow")))
			if err != nil {
				rt.Fatal(err)
			}
			l := c.NewLock("job")
			ctx := func() context.Context {
				return owner(v.ctx, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "owner"))
			}
			var calls []*pending
			for range rapid.IntRange(5, 40).Draw(rt, "steps") {
				ctx := ctx()
				call := func(f func(context.Context)) {
					ctx, cancel := context.WithTimeout(ctx, rapid.SampledFrom([]time.Duration{0, lease / 40, lease / 3, 3 * lease}).Draw(rt, "deadline"))
					calls = append(calls, begin(func() error { defer cancel(); f(ctx); return nil }))
				}
				switch rapid.SampledFrom([]string{"lock", "lock", "lock", "fixed", "unlock", "unlock", "after", "extend", "force", "delete", "refuse", "slow", "well", "well"}).Draw(rt, "what") {
				case "lock":
					call(func(ctx context.Context) { _ = l.Lock(ctx) })
				case "fixed":
					call(func(ctx context.Context) { _ = l.LockLease(ctx, lease/5) })
				case "unlock":
					call(func(ctx context.Context) { _ = l.Unlock(ctx) })
				case "after":
					call(func(ctx context.Context) {
						if hold, err := l.Acquire(ctx); err == nil && hold.ReleaseAfter(ctx, lease/20) != nil {
							_ = hold.Release(ctx)
						}
					})
				case "extend":
					call(func(ctx context.Context) {
						if hold, err := l.Acquire(ctx, reentrant.WithFixedLease(lease/5)); err == nil {
							_ = hold.Extend(ctx, lease/2)
							_ = hold.Release(ctx)
						}
					})
				case "force":
					call(func(ctx context.Context) { _, _ = l.ForceUnlock(ctx) })
				case "delete":
					v.mini.Del("job")
				case "refuse":
					v.refuseAll(loading)
				case "slow":
					v.scriptsTake(lease / 30)
				case "well":
					v.onCommand(nil)
				}
				v.pass(rapid.SampledFrom([]time.Duration{0, 0, lease / 100, lease / 10, 2 * lease}).Draw(rt, "pass"))
			}
			v.onCommand(nil)
			for _, call := range calls {
				_ = call.wait()
			}
			v.pass(4 * lease) // Acquired may take a lease, twice in a row
			j.settled(rt, c.Stats().Held)
			closing, cancel := context.WithCancel(v.ctx)
			cancel()
			_ = c.Close(closing)
			if err := c.Close(v.ctx); err != nil {
				rt.Fatal(err)
			}
			j.settled(rt, 0)
		})
	})
}
