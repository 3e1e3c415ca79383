package faulttests

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// stand is a lock of one kind when a fault comes: one Client holds it, another one waits for it. A fault of a server meets
// the stands of all kinds at once, so that each row costs one server and one lease.
type stand struct {
	locktest.Kind
	name string
	hold *reentrant.Hold
	next chan *reentrant.Hold // for the one who waits
}

// newStands takes a lock of each kind, named after it, and has the waiter wait for it.
func newStands(t *testing.T, s *redistest.Server, holder, waiter *reentrant.Client, kinds []locktest.Kind) (all []*stand) {
	t.Helper()
	for _, k := range kinds {
		st := &stand{Kind: k, name: "on " + k.Name, next: make(chan *reentrant.Hold, 1)}
		var err error
		st.hold, err = k.Acquire(asHolder(t), holder, st.name)
		must(t, err)
		st.hasWaiter(t, s, waiter)
		all = append(all, st)
	}
	return all
}

// hasWaiter begins a wait, and returns when Redis knows of it. A wait that an outage or a refusal ends is begun again.
func (st *stand) hasWaiter(t *testing.T, s *redistest.Server, waiter *reentrant.Client) {
	t.Helper()
	go func() { // ends with the call, or with the test
		ctx := locktest.AsWaiter(t)
		hold, err := st.Rival(waiter, st.name).Acquire(ctx)
		for err != nil && ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
			hold, err = st.Rival(waiter, st.name).Acquire(ctx)
		}
		st.next <- hold
	}()
	st.Registered(t, s, st.name, 1)
}

// wantLost waits until the holder was told, and wants that reason. A fixed lease of a minute outlives some faults.
func (st *stand) wantLost(t *testing.T, within time.Duration, reason reentrant.LossReason) {
	t.Helper()
	locktest.InTime(t, within, st.Name+": the loss", st.hold.Lost())
	var lost *reentrant.LostError
	if cause := context.Cause(st.hold.Context()); !errors.As(cause, &lost) || lost.Reason != reason {
		t.Errorf("%s: the hold's ctx ended with %v", st.Name, cause)
	}
	wants(t, st.hold.Release(asHolder(t)), reentrant.ErrLost)
}

// wantHeld checks that the holder has noticed nothing.
func (st *stand) wantHeld(t *testing.T, s *redistest.Server) {
	t.Helper()
	if ended(st.hold.Lost()) {
		t.Errorf("%s: lost: %v", st.Name, locktest.ContextCause(st.hold))
		return
	}
	st.Has(t, s, st.name, st.hold, "1")
	select {
	case hold := <-st.next:
		t.Errorf("%s: %v beside its holder", st.Name, hold)
	default:
	}
}

// goesOn waits until the one who waits has the lock, whose token must be higher, and releases it.
func (st *stand) goesOn(t *testing.T, within time.Duration) {
	t.Helper()
	next := locktest.InTime(t, within, st.Name+": the waiter has the lock", st.next)
	if next == nil {
		return
	}
	if st.Token && st.hold.Token() > 0 && next.Token() <= st.hold.Token() {
		t.Errorf("%s: token %d after %d", st.Name, next.Token(), st.hold.Token())
	}
	must(t, next.Release(locktest.AsWaiter(t)))
}

// wantTidy checks that nothing of the stands is left: no lock, no line, no key without a TTL, no subscription.
func wantTidy(t *testing.T, s *redistest.Server, all []*stand) {
	t.Helper()
	var names []string
	for _, st := range all {
		names = append(names, st.name)
		redistest.Eventually(t, 10*time.Second, "nobody is in line "+st.name, func() bool {
			return s.Do(t, "EXISTS", "redisson_lock_queue:{"+st.name+"}", "redisson_lock_timeout:{"+st.name+"}").(int64) == 0
		})
	}
	locktest.TidyWithin(t, s, 10*time.Second, names...)
}
