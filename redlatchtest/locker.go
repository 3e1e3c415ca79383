package redlatchtest

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// Locker is what [TestLocker] tests. A Lock and a MultiLock are Lockers. A wrapper of another shape is tested by an
// adapter in the test.
//
// The owner is the calling goroutine, or comes from ctx, as with a [reentrant.Lock]. Holds are renewed.
type Locker interface {
	reentrant.Doer
	Lock(ctx context.Context) error
	TryLock(ctx context.Context, wait, lease time.Duration) (bool, error)
	Unlock(ctx context.Context) error
}

var _ Locker = (*reentrant.Lock)(nil)

// TestLocker tests what programs rely on in a lock. That is mutual exclusion within a process and between processes,
// re-entry, a busy lock that is no error, and a wait that ends with its ctx. It is also an Unlock by another that is
// refused, a hold that lives longer than its lease, and a loss that ends the ctx of Do. Each check is a subtest in a
// testing/synctest bubble of its own, and all together take about a second.
//
// newLocker returns the lock, on r, as one process has it. Each call stands for another process and returns the same
// lock, so it makes a Client of its own:
//
//	redlatchtest.TestLocker(t, func(t testing.TB, r *redlatchtest.Redis) redlatchtest.Locker {
//		return wrap(r.Client().NewLock("order:42"))
//	})
//
// A lease may be a minute at most. If Redis forgets all locks the holder must be told within a minute.
//
// A Locker that does not return when its ctx ends can make a check hang; the bubble then ends with "deadlock", and
// the goroutines say where.
func TestLocker(t *testing.T, newLocker func(t testing.TB, r *Redis) Locker) {
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if err := c.play(t, newLocker); err != nil {
					t.Errorf("redlatchtest: %v", err)
				}
			})
		})
	}
}

// check is one promise of a Locker. It returns what is wrong.
type check struct {
	name string
	run  func(s *scene) error
}

var checks = []check{
	{"free", isTakenAndFreed},
	{"exclusion", excludes},
	{"nobody waits for a lease", wakesWaiter},
	{"renewal", outlivesLease},
	{"reentry", reenters},
	{"reentry by ctx", reentersByCtx},
	{"busy", tellsBusy},
	{"wait", waitsAsLongAsTold},
	{"ctx ends the wait", endsWithCtx},
	{"ended ctx", refusesEndedCtx},
	{"nothing is left of a wait", leavesNothing},
	{"outage", tellsOutage},
	{"Unlock by another", refusesOthers},
	{"Unlock without Lock", refusesUnlock},
	{"loss ends Do", tellsDoOfLoss},
	{"loss shows at Unlock", tellsUnlockOfLoss},
	{"error of fn", returnsErrorOfFn},
	{"panic in fn", freesAfterPanic},
}

// scene is a lock in two processes.
type scene struct {
	ctx  context.Context // ends with the check, and with it the calls that are left
	r    *Redis
	a, b Locker // of one process each
}

// limit is how long a check waits for a call that does not return. The longest check takes ten minutes.
const limit = 30 * time.Minute

// play runs the check in the bubble of t.
func (c check) play(t testing.TB, newLocker func(t testing.TB, r *Redis) Locker) error {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := New(t)
	s := &scene{ctx: ctx, r: r, a: newLocker(t, r), b: newLocker(t, r)}
	return s.elsewhere(func() error { return c.run(s) })
}

// elsewhere calls f on a goroutine of its own, so as an owner of its own. f need not return: the calls in it are
// what is tested.
func (s *scene) elsewhere(f func() error) error {
	select {
	case err := <-s.begin(f):
		return err
	case <-time.After(limit):
		return fmt.Errorf("a call has not returned within %v", limit)
	}
}

// begin is elsewhere without the wait.
func (s *scene) begin(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}
