package faulttests

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// cancelledKinds are the kinds, and whether a nested call sends anything.
var cancelledKinds = []struct {
	locktest.Kind
	counts bool
}{{locktest.Write, true}, {locktest.Read, false}, {locktest.FixedRead, true}, {locktest.Fair, true}}

// kindStep is one step of a call for a lock of one kind.
type kindStep struct {
	name    string
	prepare func(t *testing.T, r *cancelRig, k locktest.Kind) (end func())
	nested  bool // it is a nested call that sends something
	unlocks bool // the call is an Unlock, which a deadline ends and a cancellation does not
}

// stallAt stops the script, which is the step.
func (r *cancelRig) stallAt(script string) {
	rule := r.stall(script)
	r.at, r.goOn = func() bool { return rule.Hits() == 1 }, rule.Resume
}

// busy has another owner hold the lock so that the call waits.
func busy(t *testing.T, c *reentrant.Client, k locktest.Kind) (end func()) {
	t.Helper()
	rival, ahead := k.Rival(c, "l"), owner(t.Context(), "ahead")
	must(t, rival.Lock(ahead))
	return func() { must(t, rival.Unlock(ahead)) }
}

var kindSteps = []kindStep{
	{name: "acquire in flight", prepare: func(t *testing.T, r *cancelRig, k locktest.Kind) func() {
		r.stallAt("acquire")
		return func() {}
	}},
	{name: "granted, and the answer not yet looked at", prepare: func(t *testing.T, r *cancelRig, k locktest.Kind) func() {
		answer := locktest.LateAnswer{Script: "acquire", Released: make(chan struct{})}
		r.rdb.AddHook(answer)
		r.at = func() bool { return len(locktest.Held(t, r.Server, "l")) > 0 }
		return func() { close(answer.Released) }
	}},
	{name: "waiting for an owner of this client", prepare: func(t *testing.T, r *cancelRig, k locktest.Kind) func() {
		return busy(t, r.c, k)
	}},
	{name: "waiting for another client", prepare: func(t *testing.T, r *cancelRig, k locktest.Kind) func() {
		return busy(t, faultClient(t, r.Client(t)), k)
	}},
	{name: "subscribing", prepare: func(t *testing.T, r *cancelRig, k locktest.Kind) func() {
		end := busy(t, faultClient(t, r.Client(t)), k)
		r.proxy.Blackhole(true, true, faultproxy.PubSub)
		return func() { r.proxy.Heal(); end() }
	}},
	{name: "re-entry in flight", nested: true, prepare: func(t *testing.T, r *cancelRig, k locktest.Kind) func() {
		must(t, r.lock.Lock(owner(t.Context(), "me")))
		r.stallAt("count")
		return func() {
			redistest.Eventually(t, 5*time.Second, "the count is 1 again", func() bool {
				n, err := r.lock.HoldCount(owner(t.Context(), "me"))
				return err == nil && n == 1
			})
			must(t, r.lock.Unlock(owner(t.Context(), "me")))
		}
	}},
	{name: "unlock in flight", unlocks: true, prepare: func(t *testing.T, r *cancelRig, k locktest.Kind) func() {
		must(t, r.lock.Lock(owner(t.Context(), "me")))
		r.stallAt("release")
		return func() {}
	}},
}

// The steps of a call for a read-write lock and for a fair one, as TestFault39CancelAtEachStep has them for a plain lock: nothing
// stays behind, no field, no marker, no ticket and no barrier.
func TestFault39KindsCancelAtEachStep(t *testing.T) {
	t.Parallel()
	for _, k := range cancelledKinds {
		for _, step := range kindSteps {
			if step.nested && !k.counts {
				continue
			}
			t.Run(k.Name+", "+step.name, func(t *testing.T) {
				t.Parallel()
				cancelAtStep(t, k.Kind, step)
			})
		}
	}
}

func cancelAtStep(t *testing.T, k locktest.Kind, step kindStep) {
	noise := listenToNoise(t)
	r := &cancelRig{faultRig: newFaultRig(t).warmFor(t, k), goOn: func() {}}
	r.rdb = r.through(t)
	r.c = faultClient(t, r.rdb)
	r.lock = k.Held(r.c, "l")
	if k.Fixed > 0 {
		r.lock = r.lock.With(reentrant.WithFixedLease(k.Fixed))
	}
	end := step.prepare(t, r, k)
	var late time.Duration
	var err error
	if step.unlocks {
		late, err = expireAt(t, r.at, func(ctx context.Context) error { return r.lock.Unlock(ctx) })
		wants(t, err, reentrant.ErrUnconfirmed, context.DeadlineExceeded)
	} else {
		late, err = cancelAt(t, r.at, 60*time.Millisecond, func(ctx context.Context) error { return r.lock.Lock(ctx) })
		wants(t, err, reentrant.ErrNotAcquired, locktest.ErrGivenUp)
	}
	if late > noise.allow(20*time.Millisecond) {
		t.Errorf("returned %v after its cancellation", late)
	}
	r.goOn()
	end()
	redistest.Eventually(t, 5*time.Second, "nobody is in the line", func() bool { return locktest.Fair.Waiting(t, r.Server, "l") == 0 })
	locktest.TidyWithin(t, r.Server, 5*time.Second, "l")
	r.wantFree(t, "when all have gone")
	locktest.CloseQuickly(t, r.c) // waits for what is still on its way
	locktest.TidyWithin(t, r.Server, time.Second, "l")
}
