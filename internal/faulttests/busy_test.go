package faulttests

import (
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// troubled is a lock that is held, renewed and waited for, by way of a proxy that counts.
type troubled struct {
	*faultRig
	holder, waiter *reentrant.Client
	hold           *reentrant.Hold
	waited         chan *reentrant.Hold
}

func newTroubled(t *testing.T, r *faultRig, lease time.Duration) *troubled {
	t.Helper()
	x := &troubled{faultRig: r, waited: make(chan *reentrant.Hold, 1)}
	x.holder = faultClient(t, r.through(t), reentrant.WithLease(lease))
	x.waiter = faultClient(t, r.through(t), reentrant.WithLease(lease))
	me := owner(t.Context(), "me")
	var err error
	x.hold, err = x.holder.NewLock("l").Acquire(me)
	must(t, err)
	go func() {
		hold, err := x.waiter.NewLock("l").Acquire(me)
		if err != nil {
			t.Errorf("the waiter: %v", err)
		}
		x.waited <- hold
	}()
	redistest.Eventually(t, 5*time.Second, "somebody waits and is registered", func() bool {
		return r.Do(t, "ZCARD", "redlatch_waiters:{l}").(int64) == 1
	})
	return x
}

// sent counts the scripts that clients have sent, whatever became of them.
func (x *troubled) sent() int { return x.proxy.Commands("EVALSHA") + x.proxy.Commands("EVAL") }

// bounded checks how many scripts were sent since, by one holder and one waiter.
func (x *troubled) bounded(t *testing.T, sent int, since time.Time) {
	t.Helper()
	n, d := x.sent()-sent, time.Since(since)
	if limit := 10 + 50*d.Seconds(); float64(n) > limit {
		t.Errorf("%d scripts were sent in %v of trouble, want at most %.0f", n, d, limit)
	}
}

// survived checks that the holder has noticed nothing, and that the lock goes on to the waiter.
func (x *troubled) survived(t *testing.T) {
	t.Helper()
	until := x.hold.ValidUntil()
	redistest.Eventually(t, 10*time.Second, "it is renewed", func() bool { return x.hold.ValidUntil().After(until) })
	if ended(x.hold.Lost()) || x.holder.Stats().Losses > 0 {
		t.Errorf("lost: %v", locktest.ContextCause(x.hold))
	}
	select {
	case hold := <-x.waited:
		t.Fatalf("%v, which is held", hold)
	default:
	}
	me := owner(t.Context(), "me")
	must(t, x.hold.Release(me))
	next := locktest.InTime(t, 10*time.Second, "the waiter has the lock", x.waited)
	must(t, next.Release(me))
	locktest.TidyWithin(t, x.Server, 10*time.Second, "l")
}

// Somebody's script runs and runs, and Redis refuses everything else: not executed, so it is
// tried again, at a bounded rate, and comes right when the script is killed.
func TestFault21BusyScript(t *testing.T) {
	t.Parallel()
	const lease = 9 * time.Second // a Lock that is refused takes some seconds of it
	r := newFaultRig(t)
	r.Do(t, "CONFIG", "SET", "lua-time-limit", "10")
	x := newTroubled(t, r, lease)
	loop := make(chan error, 1)
	go func() { loop <- r.Admin().Do(t.Context(), "EVAL", "while true do end", "0").Err() }()
	redistest.Eventually(t, 5*time.Second, "Redis is busy", func() bool {
		err := r.Admin().Ping(t.Context()).Err()
		return err != nil && strings.HasPrefix(err.Error(), "BUSY")
	})
	sent, since := x.sent(), time.Now()
	err := x.holder.NewLock("another").Lock(owner(t.Context(), "me"))
	wants(t, err, reentrant.ErrNotAcquired)
	if err != nil && !strings.Contains(err.Error(), "BUSY") {
		t.Errorf("Lock: %v", err)
	}
	redistest.Eventually(t, 10*time.Second, "renewals were refused", func() bool { return x.holder.Stats().RenewFailures > 1 })
	x.bounded(t, sent, since)
	r.Do(t, "SCRIPT", "KILL")
	if err := <-loop; err == nil {
		t.Error("the loop ended by itself")
	}
	x.survived(t)
}

// Redis answers nobody for long enough to miss a renewal, and then everybody.
func TestFault21ClientPause(t *testing.T) {
	t.Parallel()
	const lease, pause = 9 * time.Second, 5 * time.Second // a renewal is sent after 3 s, and given up after 4.5 s
	x := newTroubled(t, newFaultRig(t), lease)
	sent, since := x.sent(), time.Now()
	x.Do(t, "CLIENT", "PAUSE", pause.Milliseconds()) // all of them
	ok, err := x.holder.NewLock("another").TryLock(owner(t.Context(), "me"), 100*time.Millisecond, 0)
	if ok {
		t.Error("TryLock took a lock of a server that did not answer")
	}
	wants(t, err, reentrant.ErrNotAcquired)
	redistest.Eventually(t, 10*time.Second, "a renewal was not answered", func() bool { return x.holder.Stats().RenewFailures > 0 })
	x.bounded(t, sent, since)
	x.survived(t)
	locktest.TidyWithin(t, x.Server, 10*time.Second, "another")
}
