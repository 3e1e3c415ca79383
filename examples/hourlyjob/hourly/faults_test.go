package hourly_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/examples/hourlyjob/hourly"
	"github.com/redlatch/redlatch/reentrant"
)

// A node that dies in mid-run is replaced when its lease ends.
func TestNodeDies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNodes(t, 2)
		begun, gone := make(chan struct{}), make(chan struct{})
		results := make(chan result, 1)
		go func() {
			results <- run(t, n.job(0, func(context.Context, hourly.Attempt) error {
				close(begun)
				<-gone
				return nil
			}), three)
		}()
		<-begun
		start := time.Now()
		n.faults[0].down.Store(true) // nothing of it reaches Redis any more
		var number int
		want(t, hourly.Ran, nil)(n.job(1, func(_ context.Context, a hourly.Attempt) error {
			number = a.Number
			if took := time.Since(start); took < lease/2 || took > lease+time.Second {
				t.Errorf("replaced after %v, with a lease of %v", took, lease)
			}
			return nil
		}).Run(t.Context(), three))
		if number != 2 {
			t.Errorf("the second attempt is number %d", number)
		}
		n.faults[0].down.Store(false)
		close(gone)
		// It was not dead but cut off: it has done the work, too, and knows.
		if r := <-results; r.outcome != hourly.Ran || !errors.Is(r.err, reentrant.ErrLost) {
			t.Errorf("the first node got %v, %v", r.outcome, r.err)
		}
	})
}

// Redis is down in mid-run, past the lease: the ctx of the work ends.
func TestDownInMidRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNodes(t, 2)
		job := n.job(0, func(ctx context.Context, _ hourly.Attempt) error {
			n.faults[0].down.Store(true)
			start := time.Now()
			select {
			case <-ctx.Done():
			case <-time.After(lease):
				t.Errorf("not told within the lease, in %v", time.Since(start))
				return errDown
			}
			return context.Cause(ctx)
		})
		want(t, hourly.Failed, reentrant.ErrLost)(job.Run(t.Context(), three))
		want(t, hourly.Ran, nil)(n.job(1, works).Run(t.Context(), three))
	})
}

// Redis is down at the end of the work and comes back after a minute: the hour is marked
// all the same.
func TestDownAtTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNodes(t, 2)
		job := n.job(0, func(context.Context, hourly.Attempt) error {
			n.faults[0].down.Store(true)
			time.AfterFunc(time.Minute, func() { n.faults[0].down.Store(false) })
			return nil
		})
		want(t, hourly.Ran, reentrant.ErrLost)(job.Run(t.Context(), three))
		want(t, hourly.Done, nil)(n.job(1, fails(t)).Run(t.Context(), three))
	})
}

// The marker cannot be set as long as ctx lasts: the work was done, and Redis does not
// know.
func TestUnmarked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNodes(t, 2)
		set := "set"
		n.faults[0].fails.Store(&set)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		want(t, hourly.Unmarked, errDown)(n.job(0, works).Run(ctx, three))
		if took := time.Since(start); took < time.Minute {
			t.Errorf("gave up after %v", took)
		}
		n.wantHash(t, false)
		want(t, hourly.Ran, nil)(n.job(1, works).Run(t.Context(), three))
	})
}

// Redis forgets the marker: the hour is done twice, which is better than not at all.
func TestMarkerLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNodes(t, 2)
		want(t, hourly.Ran, nil)(n.job(0, works).Run(t.Context(), three))
		n.mini.Del(doneKey)
		var number int
		want(t, hourly.Ran, nil)(n.job(1, func(_ context.Context, a hourly.Attempt) error {
			number = a.Number
			return nil
		}).Run(t.Context(), three))
		if number != 2 {
			t.Errorf("the second attempt is number %d", number)
		}
	})
}

// Redis is down when the hour comes: the node goes on trying until it is back, or until
// ctx ends.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNodes(t, 1)
		n.faults[0].down.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		want(t, hourly.Unavailable, errDown)(n.job(0, fails(t)).Run(ctx, three))
		if ctx.Err() == nil {
			t.Error("gave up before ctx ended")
		}
		time.AfterFunc(time.Minute, func() { n.faults[0].down.Store(false) })
		want(t, hourly.Ran, nil)(n.job(0, works).Run(t.Context(), three))
	})
}

// The attempt cannot be counted: nothing is run before it is.
func TestUncounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNodes(t, 1)
		hset := "hset"
		n.faults[0].fails.Store(&hset)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		want(t, hourly.Unavailable, errDown)(n.job(0, fails(t)).Run(ctx, three))
		n.wantHash(t, false)
	})
}

// An attempt whose count was confirmed late is one attempt, not two, also if there is only
// one.
func TestCountedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNodes(t, 1)
		n.faults[0].loseReply("hset")
		job := n.job(0, func(_ context.Context, a hourly.Attempt) error {
			if a.Number != 1 {
				t.Errorf("the attempt is number %d", a.Number)
			}
			return nil
		})
		job.Attempts = 1
		want(t, hourly.Ran, nil)(job.Run(t.Context(), three))
		if got, _ := n.mini.HKeys(attemptsKey); len(got) != 1 {
			t.Errorf("attempts %v", got)
		}
	})
}

// A closed Client will never answer: there is no point in going on.
func TestClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNodes(t, 1)
		if err := n.clients[0].Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		want(t, hourly.Unavailable, reentrant.ErrClosed)(n.job(0, fails(t)).Run(t.Context(), three))
	})
}
