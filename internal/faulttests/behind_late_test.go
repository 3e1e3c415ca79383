package faulttests

import (
	"maps"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// lateMove passes a lock on from a to b, keeps the first move of the field back and waits until
// it was repeated and confirmed.
func lateMove(t *testing.T) (r *faultRig, c *reentrant.Client, b *reentrant.Hold, held *faultproxy.RuleHandle) {
	t.Helper()
	r = newFaultRig(t).warm(t)
	c = faultClient(t, r.through(t, locktest.Impatience(100*time.Millisecond)), locktest.WriteBehind)
	held = r.holdBack("transfer")
	l, a := c.NewLock("l"), owner(t.Context(), "a")
	must(t, l.Lock(a))
	waiter := locktest.CallFor(t, c, l, "b")
	must(t, l.Unlock(a))
	b = waiter.Hold(t, 5*time.Second)
	follows(t, r.Server, "l", b, "1")
	if held.Hits() != 1 {
		t.Fatal("no move was kept back")
	}
	return r, c, b, held
}

// A move of the field reaches Redis when the lock is another Client's: it stays his, with his TTL.
func TestFault19BehindLateMoveOfALockThatIsAnothers(t *testing.T) {
	t.Parallel()
	r, _, b, held := lateMove(t)
	must(t, b.Release(t.Context()))
	other := faultClient(t, r.Client(t)).NewLock("l")
	must(t, other.LockLease(owner(t.Context(), "other"), time.Minute))
	before := r.held(t, "l")
	wantStale(t, held)
	if after := r.held(t, "l"); !maps.Equal(before, after) {
		t.Errorf("Redis had %v, and after the late move %v", before, after)
	}
	if left, err := other.TTL(t.Context()); err != nil || left < 50*time.Second {
		t.Errorf("after the late move %v are left, %v", left, err)
	}
	must(t, other.Unlock(owner(t.Context(), "other")))
}

// The same when the owner whose field it was to move has the lock anew, nested: it is not taken
// from him, and his hold count stays.
func TestFault19BehindLateMoveOfALockThatCameBack(t *testing.T) {
	t.Parallel()
	r, c, b, held := lateMove(t)
	l := c.NewLock("l")
	again := locktest.CallFor(t, c, l, "a")
	must(t, b.Release(t.Context()))
	hold := again.Hold(t, 5*time.Second)
	must(t, l.Lock(hold.Context()))
	follows(t, r.Server, "l", hold, "2")
	wantStale(t, held)
	if got := r.held(t, "l"); len(got) != 1 || got[hold.Owner()] != "2" {
		t.Errorf("after the late move Redis has %v", got)
	}
	must(t, l.Unlock(hold.Context()))
	must(t, hold.Release(t.Context()))
	locktest.TidyWithin(t, r.Server, 3*time.Second, "l")
}

// And when the lock is free: none appears.
func TestFault19BehindLateMoveOfAFreeLock(t *testing.T) {
	t.Parallel()
	r, c, b, held := lateMove(t)
	must(t, b.Release(t.Context()))
	wantStale(t, held)
	if got := r.held(t, "l"); len(got) > 0 {
		t.Errorf("a lock appeared: %v", got)
	}
	locktest.CloseQuickly(t, c)
}

// A renewal is on its way while the field is moved: its "not owner", true by then, is no loss.
func TestFault19BehindRenewalOvertakenByAMove(t *testing.T) {
	t.Parallel()
	const lease = 4500 * time.Millisecond
	r := newFaultRig(t).warm(t)
	c := faultClient(t, r.through(t), reentrant.WithLease(lease), locktest.WriteBehind)
	l, a := c.NewLock("l"), owner(t.Context(), "a")
	must(t, l.Lock(a))
	redistest.Eventually(t, 5*time.Second, "the script is known", func() bool { return c.Stats().Renewals > 0 })
	slow := r.stall("renew")
	waiter := locktest.CallFor(t, c, l, "b")
	redistest.Eventually(t, 5*time.Second, "a renewal is on its way", func() bool { return slow.Hits() == 1 })
	must(t, l.Unlock(a))
	b := waiter.Hold(t, 5*time.Second)
	follows(t, r.Server, "l", b, "1")
	slow.Resume()
	before := c.Stats().Renewals
	redistest.Eventually(t, 10*time.Second, "it is renewed again", func() bool { return c.Stats().Renewals > before })
	if ended(b.Lost()) || c.Stats().Losses > 0 {
		t.Errorf("lost: %v", locktest.ContextCause(b))
	}
	must(t, b.Release(t.Context()))
}
