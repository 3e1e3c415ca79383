package hourly_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/examples/hourlyjob/hourly"
	"github.com/redlatch/redlatch/internal/leaktest"
	"github.com/redlatch/redlatch/reentrant"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// Most tests run in virtual time, where an hour passes in milliseconds.

func TestRan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNodes(t, 1)
		var got hourly.Attempt
		job := n.job(0, func(ctx context.Context, a hourly.Attempt) error {
			got = a
			// Ten leases: the watchdog renews. A nested lock is re-entered.
			if err := n.clients[0].NewLock(lockKey).Lock(ctx); err != nil {
				return err
			}
			time.Sleep(10 * lease)
			n.wantHash(t, true)
			return errors.Join(n.clients[0].NewLock(lockKey).Unlock(ctx), ctx.Err())
		})
		want(t, hourly.Ran, nil)(job.Run(t.Context(), three.Add(59*time.Minute)))
		if !got.Hour.Equal(three) || got.Number != 1 || got.ID == "" {
			t.Errorf("the work was told %+v", got)
		}
		n.wantHash(t, false)
		if id, _ := n.mini.HKeys(attemptsKey); len(id) != 1 || id[0] != got.ID {
			t.Errorf("counted attempts %v, want %s", id, got.ID)
		}
		for _, key := range []string{doneKey, attemptsKey} {
			if ttl := n.mini.TTL(key); ttl <= hourly.Kept-time.Minute || ttl > hourly.Kept {
				t.Errorf("TTL of %s is %v, want %v", key, ttl, hourly.Kept)
			}
		}
		want(t, hourly.Done, nil)(job.Run(t.Context(), three))

		// The next hour is another one; this one is forgotten after two.
		want(t, hourly.Ran, nil)(job.Run(t.Context(), three.Add(time.Hour)))
		time.Sleep(hourly.Kept)
		if n.mini.Exists(doneKey) || n.mini.Exists(attemptsKey) {
			t.Error("the hour is not forgotten")
		}
	})
}

// The marker is set before the lock is freed: whoever gets the lock next sees it.
func TestMarkedBeforeFreed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNodes(t, 1)
		n.onRelease = func() {
			if !n.mini.Exists(doneKey) {
				t.Error("the lock is freed before the hour is marked as done")
			}
		}
		want(t, hourly.Ran, nil)(n.job(0, works).Run(t.Context(), three))
		if n.releases.Load() != 1 {
			t.Errorf("%d releases, want 1", n.releases.Load())
		}
	})
}

// The work fails on one node, and the other, which stands by, does it at once.
func TestFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNodes(t, 2)
		errWork := errors.New("no paper")
		begun := make(chan struct{})
		results := make(chan result, 1)
		go func() {
			results <- run(t, n.job(0, func(context.Context, hourly.Attempt) error {
				close(begun)
				time.Sleep(lease / 2)
				return errWork
			}), three)
		}()
		<-begun
		start := time.Now()
		var number int
		want(t, hourly.Ran, nil)(n.job(1, func(_ context.Context, a hourly.Attempt) error {
			number = a.Number
			if waited := time.Since(start); waited > lease/2+10*time.Millisecond {
				t.Errorf("began %v after the other one, want %v", waited, lease/2)
			}
			return nil
		}).Run(t.Context(), three))
		if r := <-results; r.outcome != hourly.Failed || !errors.Is(r.err, errWork) {
			t.Errorf("got %v, %v", r.outcome, r.err)
		}
		if number != 2 {
			t.Errorf("the second attempt is number %d", number)
		}
	})
}

func TestPanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNodes(t, 2)
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic did not go on")
				}
			}()
			_, _ = n.job(0, func(context.Context, hourly.Attempt) error { panic("a bug") }).Run(t.Context(), three)
		}()
		n.wantHash(t, false)
		want(t, hourly.Ran, nil)(n.job(1, works).Run(t.Context(), three))
	})
}

// Two nodes at once: one works, the other finds it done. Whatever owner their ctx has in
// common, they are two.
func TestTwoNodes(t *testing.T) {
	t.Parallel()
	for _, clients := range []int{2, 1} { // in two processes, and in one
		synctest.Test(t, func(t *testing.T) {
			n := newNodes(t, clients)
			var ran int // the lock guards it
			results := make(chan result, 2)
			for i := range 2 {
				go func() {
					job := n.job(i%clients, func(context.Context, hourly.Attempt) error {
						ran++
						time.Sleep(time.Minute)
						return nil
					})
					outcome, err := job.Run(reentrant.WithOwner(t.Context(), "the scheduler"), three)
					results <- result{outcome, err}
				}()
			}
			got := map[hourly.Outcome]int{}
			for range 2 {
				r := <-results
				if r.err != nil {
					t.Error(r.err)
				}
				got[r.outcome]++
			}
			if ran != 1 || got[hourly.Ran] != 1 || got[hourly.Done] != 1 {
				t.Errorf("%d clients: ran %d times, outcomes %v", clients, ran, got)
			}
		})
	}
}

func TestBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNodes(t, 2)
		begun, finish := make(chan struct{}), make(chan struct{})
		results := make(chan result, 1)
		go func() {
			results <- run(t, n.job(0, func(context.Context, hourly.Attempt) error {
				close(begun)
				<-finish
				return nil
			}), three)
		}()
		<-begun
		other := n.job(1, fails(t))
		for _, standBy := range []time.Duration{-1, 10 * time.Second} {
			other.StandBy = standBy
			start := time.Now()
			want(t, hourly.Busy, nil)(other.Run(t.Context(), three))
			if took := time.Since(start); took < standBy || took > max(standBy, 0)+time.Second {
				t.Errorf("stood by for %v, want %v", took, standBy)
			}
		}
		other.StandBy = 0
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		want(t, hourly.Busy, context.DeadlineExceeded)(other.Run(ctx, three))
		close(finish)
		if r := <-results; r.outcome != hourly.Ran || r.err != nil {
			t.Errorf("got %v, %v", r.outcome, r.err)
		}
	})
}

// Three attempts fail, and nobody tries a fourth. While the last one is at work the hour is
// not given up.
func TestExhausted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNodes(t, 2)
		job := n.job(0, nil)
		errWork := errors.New("no paper")
		job.Work = func(_ context.Context, a hourly.Attempt) error {
			if a.Number == hourly.Attempts {
				other := n.job(1, fails(t))
				other.StandBy = time.Second
				want(t, hourly.Busy, nil)(other.Run(t.Context(), three))
			}
			return errWork
		}
		for range hourly.Attempts {
			want(t, hourly.Failed, errWork)(job.Run(t.Context(), three))
			time.Sleep(time.Minute)
		}
		want(t, hourly.Exhausted, nil)(n.job(1, fails(t)).Run(t.Context(), three))
		n.wantHash(t, false)
		// Nothing is left of it once the counter is gone.
		time.Sleep(hourly.Kept)
		if keys := n.mini.Keys(); len(keys) != 0 {
			t.Errorf("keys are left: %v", keys)
		}
		one := n.job(0, fails(t))
		one.Attempts = 1
		n.mini.HSet(attemptsKey, "somebody", "once")
		want(t, hourly.Exhausted, nil)(one.Run(t.Context(), three))
	})
}

func TestName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "a{b", "a}b", "a\n"} {
		synctest.Test(t, func(t *testing.T) {
			job := newNodes(t, 1).job(0, fails(t))
			job.Name = name
			want(t, hourly.Unavailable, reentrant.ErrInvalidName)(job.Run(t.Context(), three))
		})
	}
}
