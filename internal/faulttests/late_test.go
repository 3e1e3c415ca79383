package faulttests

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// stale is the answer of a script that found a later command of its client.
const stale = ":-1\r\n"

// hold arms the proxy to keep one run of a script back.
func (r *faultRig) holdBack(script string) *faultproxy.RuleHandle {
	return r.proxy.Add(faultproxy.Rule{Match: scriptIs(script), Times: 1, Action: faultproxy.HoldRequest})
}

// release executes what was kept back, and wants it to be void.
func wantStale(t *testing.T, h *faultproxy.RuleHandle) {
	t.Helper()
	got := h.Release()
	if len(got) != 1 || !strings.HasSuffix(got[0], stale) {
		t.Errorf("the late command was answered %q, want %q", got, stale)
	}
}

// cutRule keeps every script from Redis.
type cutRule struct {
	*faultproxy.RuleHandle
	r *faultRig
}

func (r *faultRig) cutOff() cutRule {
	return cutRule{r.proxy.Add(faultproxy.Rule{Match: anyScript, Action: faultproxy.DropBefore}), r}
}

// givenUp returns when lock l is free and nobody tries any more to clean up. That ends with
// the lease; the last try may come a little later, and there are fewer near the end.
func (c cutRule) givenUp(t *testing.T, lease time.Duration) {
	t.Helper()
	seen := 0
	redistest.Eventually(t, 30*time.Second, "the clean-up has given up", func() bool {
		before := seen
		seen = c.Hits()
		quiet := time.NewTimer(lease * 3 / 2)
		defer quiet.Stop()
		<-quiet.C
		return len(c.r.held(t, "l")) == 0 && seen == before
	})
}

// stall arms the proxy to stop one run of a script, until the handle's Resume.
func (r *faultRig) stall(script string) *faultproxy.RuleHandle {
	return r.proxy.Add(faultproxy.Rule{Match: scriptIs(script), Times: 1, Action: faultproxy.StallRequest})
}

// leave makes a call as the owner "me" and cancels it when its command is kept back by the
// rule, not before and not after a time that a busy machine may take to get there.
func leave(t *testing.T, at *faultproxy.RuleHandle, call func(ctx context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithCancel(owner(t.Context(), "me"))
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- call(ctx) }()
	redistest.Eventually(t, 20*time.Second, "the command is on its way", func() bool { return at.Hits() > 0 })
	cancel()
	return locktest.InTime(t, 20*time.Second, "the call that was cancelled returns", done)
}

// leaveRelease is leave for a release, which a deadline ends and a cancellation does not. Where the
// machine is too busy to send the command before the deadline it goes on in the background.
func leaveRelease(t *testing.T, at *faultproxy.RuleHandle, release func(ctx context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(owner(t.Context(), "me"), 100*time.Millisecond)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- release(ctx) }()
	err := locktest.InTime(t, 20*time.Second, "the release returns at its deadline", done)
	redistest.Eventually(t, 20*time.Second, "the command is on its way", func() bool { return at.Hits() > 0 })
	return err
}

// An acquire reaches Redis after its caller has given up, and after the same owner
// has locked and unlocked: no lock may appear.
func TestFault19LateAcquire(t *testing.T) {
	t.Parallel()
	r := newFaultRig(t).warm(t)
	c := faultClient(t, r.through(t, locktest.Impatience(150*time.Millisecond)))
	l, ctx := c.NewLock("l"), owner(t.Context(), "me")
	held := r.holdBack("acquire")
	wants(t, leave(t, held, l.Lock), reentrant.ErrNotAcquired, context.Canceled)
	must(t, l.Lock(ctx))
	must(t, l.Unlock(ctx))
	wantStale(t, held)
	if left := r.held(t, "l"); len(left) > 0 {
		t.Errorf("a lock appeared: %v", left)
	}
}

// The same when the owner never came back: cleaning up after the call is enough to
// void it.
func TestFault19LateAcquireOfACallThatLeft(t *testing.T) {
	t.Parallel()
	r := newFaultRig(t).warm(t)
	c := faultClient(t, r.through(t, locktest.Impatience(150*time.Millisecond)))
	held := r.holdBack("acquire")
	wants(t, leave(t, held, c.NewLock("l").Lock), reentrant.ErrNotAcquired)
	redistest.Eventually(t, 5*time.Second, "the clean-up was confirmed", func() bool {
		return r.Do(t, "EXISTS", "redlatch_epoch:{l}:"+c.ID()).(int64) == 1
	})
	wantStale(t, held)
	if left := r.held(t, "l"); len(left) > 0 {
		t.Errorf("a lock appeared: %v", left)
	}
}

// When nothing of the client has reached Redis for a whole lease, an acquire that
// arrives later still is granted to nobody. The lock must not be renewed.
func TestFault19LateAcquireAfterALease(t *testing.T) {
	t.Parallel()
	const lease = time.Second // what is held after it must last for a look
	r := newFaultRig(t).warm(t)
	c := faultClient(t, r.through(t, locktest.Impatience(100*time.Millisecond)), reentrant.WithLease(lease))
	held := r.holdBack("acquire")
	cut := r.cutOff()
	wants(t, leave(t, held, c.NewLock("l").Lock), reentrant.ErrNotAcquired)
	cut.givenUp(t, lease)
	cut.Remove()
	held.Release()
	if got := r.held(t, "l"); len(got) != 1 {
		t.Fatalf("the late acquire has done nothing: %v", got)
	}
	locktest.FreeWithin(t, r.Server, 5*lease, "l")
	if st := c.Stats(); st.Held > 0 || st.Renewals > 0 {
		t.Errorf("%+v", st)
	}
}

// A release reaches Redis after the same owner has locked again: it must not free
// the new hold.
func TestFault19LateRelease(t *testing.T) {
	t.Parallel()
	r := newFaultRig(t).warm(t)
	c := faultClient(t, r.through(t, locktest.Impatience(150*time.Millisecond)))
	l, ctx := c.NewLock("l"), owner(t.Context(), "me")
	must(t, l.Lock(ctx))
	held := r.holdBack("release")
	wants(t, leaveRelease(t, held, l.Unlock), reentrant.ErrUnconfirmed, context.DeadlineExceeded)
	hold, err := l.Acquire(ctx)
	must(t, err)
	wantStale(t, held)
	if got := r.held(t, "l"); got[hold.Owner()] != "1" {
		t.Errorf("after the late release Redis has %v", got)
	}
	must(t, hold.Release(ctx))
}

// The same after the clean-up has given up: for a whole lease nothing got through,
// the owner locks anew, and only then the old release arrives.
func TestFault19LateReleaseAfterALease(t *testing.T) {
	t.Parallel()
	const lease = time.Second // what is held after it must last for a look
	r := newFaultRig(t).warm(t)
	c := faultClient(t, r.through(t, locktest.Impatience(100*time.Millisecond)), reentrant.WithLease(lease))
	l, ctx := c.NewLock("l"), owner(t.Context(), "me")
	must(t, l.Lock(ctx))
	held := r.holdBack("release")
	cut := r.cutOff()
	wants(t, leaveRelease(t, held, l.Unlock), reentrant.ErrUnconfirmed)
	cut.givenUp(t, lease)
	cut.Remove()
	hold, err := l.Acquire(ctx)
	must(t, err)
	wantStale(t, held)
	if got := r.held(t, "l"); got[hold.Owner()] != "1" {
		t.Errorf("the late release freed the new hold: Redis has %v", got)
	}
	must(t, hold.Release(ctx))
}

// A hand-off reaches Redis after it was repeated, and after the lock has come back
// to the owner that gave it away: it must not be taken from him.
func TestFault19LateTransfer(t *testing.T) {
	t.Parallel()
	r := newFaultRig(t).warm(t)
	c := faultClient(t, r.through(t, locktest.Impatience(150*time.Millisecond)))
	l, me, you := c.NewLock("l"), owner(t.Context(), "me"), owner(t.Context(), "you")
	must(t, l.Lock(me))
	yours := make(chan error, 1)
	go func() { yours <- l.Lock(you) }()
	redistest.Eventually(t, 5*time.Second, "somebody waits", func() bool { return c.Stats().Waiting == 1 })
	held := r.holdBack("transfer")
	must(t, l.Unlock(me))
	must(t, locktest.InTime(t, 5*time.Second, "the lock was handed over", yours))
	must(t, l.Unlock(you))
	hold, err := l.Acquire(me)
	must(t, err)
	wantStale(t, held)
	if got := r.held(t, "l"); len(got) != 1 || got[hold.Owner()] != "1" {
		t.Errorf("after the late hand-off Redis has %v", got)
	}
	must(t, hold.Release(me))
}

// A nested lock reaches Redis after its call has ended, late enough that the owner
// has released everything and holds the lock anew.
func TestFault19LateCount(t *testing.T) {
	t.Parallel()
	r := newFaultRig(t).warm(t)
	c := faultClient(t, r.through(t, locktest.Impatience(150*time.Millisecond)))
	l, ctx := c.NewLock("l"), owner(t.Context(), "me")
	must(t, l.Lock(ctx))
	held := r.holdBack("count")
	wants(t, leave(t, held, l.Lock), reentrant.ErrNotAcquired, context.Canceled)
	must(t, l.Unlock(ctx))
	hold, err := l.Acquire(ctx)
	must(t, err)
	wantStale(t, held)
	if got := r.held(t, "l"); got[hold.Owner()] != "1" {
		t.Errorf("after the late count Redis has %v", got)
	}
	must(t, hold.Release(ctx))
}

// A renewal reaches Redis when the lock is somebody else's: his lease is his own.
func TestFault19LateRenewal(t *testing.T) {
	t.Parallel()
	const lease = 1500 * time.Millisecond
	r := newFaultRig(t).warm(t)
	c := faultClient(t, r.through(t), reentrant.WithLease(lease))
	other := faultClient(t, r.Client(t))
	l, ctx := c.NewLock("l"), owner(t.Context(), "me")
	must(t, l.Lock(ctx))
	redistest.Eventually(t, 5*time.Second, "the script is known", func() bool { return c.Stats().Renewals > 0 })
	held := r.holdBack("renew")
	redistest.Eventually(t, 5*time.Second, "a renewal was sent", func() bool { return held.Hits() == 1 })
	must(t, l.Unlock(ctx))
	theirs := other.NewLock("l")
	must(t, theirs.LockLease(ctx, 500*time.Millisecond))
	if got := held.Release(); len(got) != 1 || got[0] != "*1\r\n:0\r\n" {
		t.Errorf("the late renewal was answered %q", got)
	}
	if ttl, err := theirs.TTL(ctx); err != nil || ttl > 500*time.Millisecond {
		t.Errorf("after the late renewal the other's lease is %v, %v", ttl, err)
	}
	locktest.FreeWithin(t, r.Server, 2*time.Second, "l")
}
