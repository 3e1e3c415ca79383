package multilock_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// Of an even number of members half is no quorum: the other half would be one, too.
func TestMutantHalfIsNoQuorum(t *testing.T) {
	inVirtualTime(t, 4, func(t *testing.T, v *virtual) {
		a, b := v.process(), v.process()
		for _, c := range a[:2] {
			must(t, c.NewLock(name).Lock(v.ctx))
		}
		if ok, err := b.quorum(t, name).TryLock(v.ctx, 0, 0); ok || err != nil {
			t.Errorf("TryLock with two of four: %v, %v", ok, err)
		}
		v.wantHolders("AA--", name, a, b)

		must(t, a[1].NewLock(name).Unlock(v.ctx))
		hold, err := b.quorum(t, name).Acquire(v.ctx)
		must(t, err)
		v.wantHolders("ABBB", name, a, b)
		must(t, hold.Release(v.ctx))
		must(t, a[0].NewLock(name).Unlock(v.ctx))
	})
}

// Members with leases of 1 s, 2 s and 3 s: a lock of all is valid as long as the
// shortest, and a quorum as long as two of them.
func TestMutantValidAsTheMembersThatAreNeeded(t *testing.T) {
	for _, kind := range []struct {
		name  string
		least time.Duration // the lease by which the hold goes
	}{{"All", time.Second}, {"Quorum", 2 * time.Second}} {
		t.Run(kind.name, func(t *testing.T) {
			inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
				var f fleet
				for i := range v.s {
					f = append(f, v.processWith([]int{i}, reentrant.WithLease(time.Duration(i+1)*time.Second))...)
				}
				l := f.all(t, name)
				if kind.name == "Quorum" {
					l = f.quorum(t, name)
				}
				began := time.Now()
				hold, err := l.Acquire(v.ctx)
				must(t, err)
				valid := hold.ValidUntil().Sub(began)
				if most := kind.least; valid > most || valid < most-most/50-10*time.Millisecond {
					t.Errorf("valid for %v, want that of a lease of %v", valid, most)
				}
				must(t, hold.Release(v.ctx))
			})
		})
	}
}

// A member that answers when the call has given it up is freed, and not only by the end of
// its lease.
func TestMutantUnansweredMembersAreFreed(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		a := v.process()
		end := v.s[2].silence()
		if ok, err := a.all(t, name).TryLock(v.ctx, 0, 0); ok || err == nil {
			t.Errorf("TryLock with a silent member: %v, %v", ok, err)
		}
		v.wantHolders("---", name, a)
		end() // it does what it was sent
		v.pass(lease / 4)
		v.wantHolders("---", name, a)
	})
}
