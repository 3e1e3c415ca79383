package faulttests

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// clockLease is long enough for a third of it, in which a holder finds out, to be told from
// all of it on a busy machine.
const clockLease = 1500 * time.Millisecond

// clockClient is a Client that notes what its watchdog hears.
func clockClient(t *testing.T, s *redistest.Server) (l *reentrant.Lock, renewed *atomic.Int64, c *reentrant.Client) {
	t.Helper()
	renewed = new(atomic.Int64)
	c = faultClient(t, s.Client(t), reentrant.WithLease(clockLease), reentrant.WithEvents(reentrant.Events{
		Renewed: func(reentrant.Event) { renewed.Add(1) },
	}))
	return c.NewLock("l", reentrant.WithFencing()), renewed, c
}

// nextRenewal waits until a renewal was just confirmed, so that none is under way and the
// next is a third of a lease off.
func nextRenewal(t *testing.T, renewed *atomic.Int64) (seen int64) {
	t.Helper()
	before := renewed.Load()
	redistest.Eventually(t, 20*time.Second, "a renewal", func() bool { return renewed.Load() > before })
	return renewed.Load()
}

// wantOverridden checks a hold that was lost by Redis' word, and not at ValidUntil.
func wantOverridden(t *testing.T, hold *reentrant.Hold) {
	t.Helper()
	locktest.InTime(t, 20*time.Second, "the loss", hold.Lost())
	var lost *reentrant.LostError
	if cause := context.Cause(hold.Context()); !errors.As(cause, &lost) || lost.Reason != reentrant.Overridden {
		t.Errorf("the hold ended because of %v, want the answer to a renewal", cause)
	}
	wants(t, hold.Release(t.Context()), reentrant.ErrLost)
}

// clientsWait waits until so many clients are registered as waiters.
func clientsWait(t *testing.T, s *redistest.Server, n int64) {
	t.Helper()
	redistest.Eventually(t, 20*time.Second, "waiters are registered", func() bool {
		return s.Do(t, "ZCARD", "redlatch_waiters:{l}").(int64) == n
	})
}

// Redis' clock is set forward by a minute: the lock ends early, and another has it while its
// holder trusts it, until the next renewal. That is the overlap that docs/guarantees.md
// owns up to, and no more. Who waits goes on although the registry has ended too.
func TestFault28ClockForward(t *testing.T) {
	t.Parallel()
	clock := redistest.NewClock(t)
	s := redistest.Start(t, redistest.WithClock(clock))
	first, renewed, _ := clockClient(t, s)
	second, renewedToo, _ := clockClient(t, s)
	third, _, waiting := clockClient(t, s)

	hold, err := first.Acquire(owner(t.Context(), "a"))
	must(t, err)
	seen := nextRenewal(t, renewed)
	clock.Set(time.Minute)
	next, err := second.Acquire(owner(t.Context(), "b"), reentrant.WithWait(0))
	if err != nil {
		t.Fatalf("the clock was set forward, and the lock has not ended: %v", err)
	}
	overlap := time.Now()
	wantOverridden(t, hold)
	t.Logf("two holders for %v of a lease of %v", time.Since(overlap), clockLease)
	if n := renewed.Load(); n != seen {
		t.Errorf("%d renewals after the clock was set", n-seen)
	}
	if next.Token() <= hold.Token() {
		t.Errorf("token %d after %d", next.Token(), hold.Token())
	}

	waiter := make(chan *reentrant.Hold, 1)
	go func() {
		h, err := third.Acquire(owner(t.Context(), "c"))
		if err != nil {
			t.Error(err)
		}
		waiter <- h
	}()
	clientsWait(t, s, 1)
	seen = nextRenewal(t, renewedToo)
	clock.Set(2 * time.Minute)
	last := locktest.InTime(t, 20*time.Second, "the waiter gets the lock", waiter)
	wantOverridden(t, next)
	if n := renewedToo.Load(); n != seen {
		t.Errorf("%d renewals after the clock was set", n-seen)
	}
	if st := waiting.Stats(); st.WakeUps.Message != 0 || last.Token() <= next.Token() {
		t.Errorf("token %d after %d, %+v", last.Token(), next.Token(), st)
	}
	must(t, last.Release(t.Context()))
	locktest.TidyWithin(t, s, 10*time.Second, "l")
}

// Redis' clock is set back by two minutes: the lock seems to end in two minutes, but is kept
// and given back as ever. A waiter does not sleep for that long; it polls. Tokens rise.
func TestFault28ClockBack(t *testing.T) {
	t.Parallel()
	clock := redistest.NewClock(t)
	s := redistest.Start(t, redistest.WithClock(clock))
	first, renewed, _ := clockClient(t, s)
	second, _, waiting := clockClient(t, s)
	third, _, _ := clockClient(t, s)
	acquire := func(l *reentrant.Lock, who string) <-chan *reentrant.Hold {
		c := make(chan *reentrant.Hold, 1)
		go func() {
			h, err := l.Acquire(owner(t.Context(), who))
			if err != nil {
				t.Error(err)
			}
			c <- h
		}()
		return c
	}

	hold, err := first.Acquire(owner(t.Context(), "a"))
	must(t, err)
	clock.Set(-2 * time.Minute)
	if left := s.Do(t, "PTTL", "l").(int64); left < 100_000 {
		t.Fatalf("the clock was set back, and the lock ends in %d ms", left)
	}
	waiter := acquire(second, "b")
	clientsWait(t, s, 1)
	before := renewed.Load()
	redistest.Eventually(t, 20*time.Second, "renewals for more than a lease", func() bool { return renewed.Load() > before+3 })
	select {
	case <-waiter:
		t.Error("taken from its holder")
	case <-hold.Lost():
		t.Errorf("lost: %v", context.Cause(hold.Context()))
	default:
	}

	s.Do(t, "DEL", "l") // nobody says so
	next := locktest.InTime(t, 20*time.Second, "the waiter finds the free lock", waiter)
	if st := waiting.Stats(); st.WakeUps.Message != 0 || st.WakeUps.Poll == 0 {
		t.Errorf("wake-ups %+v, want polls", st.WakeUps)
	}
	wantOverridden(t, hold)
	if next.Token() <= hold.Token() {
		t.Errorf("token %d after %d", next.Token(), hold.Token())
	}

	waiter = acquire(third, "c")
	clientsWait(t, s, 1)
	must(t, next.Release(t.Context()))
	last := locktest.InTime(t, 20*time.Second, "the waiter is woken", waiter)
	if last.Token() <= next.Token() {
		t.Errorf("token %d after %d", last.Token(), next.Token())
	}
	must(t, last.Release(t.Context()))
	locktest.TidyWithin(t, s, 10*time.Second, "l")

	// The counter is lost too, when the clock is right again, and when it is not. The second
	// is what guarantees.md excepts.
	token := func() int64 {
		t.Helper()
		h, err := first.Acquire(owner(t.Context(), "a"))
		must(t, err)
		must(t, h.Release(t.Context()))
		return h.Token()
	}
	clock.Set(0)
	s.Do(t, "DEL", "redisson_lock_token:{l}")
	right := token()
	if right <= last.Token() {
		t.Errorf("token %d after %d: without its counter it fell", right, last.Token())
	}
	clock.Set(-2 * time.Minute)
	s.Do(t, "DEL", "redisson_lock_token:{l}")
	if fell := token(); fell >= right {
		t.Errorf("token %d after %d: it did not fall, and the documentation says that it may", fell, right)
	}
}
