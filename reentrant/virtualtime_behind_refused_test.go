package reentrant_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// A hand-off that Redis is asked about does not happen while Redis refuses everything; a
// write-behind one does. So it shows for which locks there is one.
func TestTimeBehindWhichHandOffs(t *testing.T) {
	fixed := []reentrant.AcquireOption{reentrant.WithFixedLease(lease)}
	for _, test := range []struct {
		name           string
		mode           reentrant.Handoff
		holder, waiter []reentrant.AcquireOption
		fenced         [2]bool // the holder's handle, the waiter's
		extra          []reentrant.Option
		nested         time.Duration // the holder has held it nested with that fixed lease
		atOnce         bool
	}{
		{name: "write-behind", mode: reentrant.WriteBehind, atOnce: true},
		{name: "confirmed", mode: reentrant.Confirmed},
		{name: "remote", mode: reentrant.Remote},
		{name: "fencing", mode: reentrant.WriteBehind, fenced: [2]bool{true, true}},
		{name: "fencing of the holder alone", mode: reentrant.WriteBehind, fenced: [2]bool{true, false}},
		{name: "fencing of the waiter alone", mode: reentrant.WriteBehind, fenced: [2]bool{false, true}},
		{name: "fixed leases", mode: reentrant.WriteBehind, holder: fixed, waiter: fixed},
		{name: "a fixed lease of the holder", mode: reentrant.WriteBehind, holder: fixed},
		{name: "a fixed lease of the waiter", mode: reentrant.WriteBehind, waiter: fixed},
		{name: "a nested lease that was longer", mode: reentrant.WriteBehind, nested: time.Hour},
		{name: "a nested lease that was not", mode: reentrant.WriteBehind, nested: lease / 2, atOnce: true},
		{name: "a limit of the hold", mode: reentrant.WriteBehind, extra: []reentrant.Option{reentrant.WithMaxHold(time.Hour)}, atOnce: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				c := v.client(append(test.extra, reentrant.WithHandoff(test.mode))...)
				handle := func(fenced bool) *reentrant.Lock {
					if fenced {
						return c.NewLock("job", reentrant.WithFencing())
					}
					return c.NewLock("job")
				}
				first, err := handle(test.fenced[0]).Acquire(owner(v.ctx, "a"), test.holder...)
				must(t, err)
				if test.nested > 0 {
					must(t, c.NewLock("job").LockLease(first.Context(), test.nested))
					must(t, c.NewLock("job").Unlock(first.Context()))
				}
				var second *reentrant.Hold
				waiter := begin(func() (err error) {
					second, err = handle(test.fenced[1]).Acquire(owner(v.ctx, "b"), test.waiter...)
					return err
				})
				v.pass(0)
				v.refuseAll(loading)
				short, cancel := context.WithTimeout(v.ctx, time.Millisecond)
				defer cancel()
				released := first.Release(short)
				v.pass(0)
				if atOnce := waiter.over(); atOnce != test.atOnce || (released == nil) != test.atOnce {
					t.Errorf("granted at once %v, want %v; released: %v", atOnce, test.atOnce, released)
				}
				v.refuseAll("")
				must(t, waiter.wait())
				if second.Token() > 0 != test.fenced[1] || test.fenced[0] && test.fenced[1] && second.Token() <= first.Token() {
					t.Errorf("tokens %d, %d", first.Token(), second.Token())
				}
				must(t, second.Release(v.ctx))
			})
		})
	}
}
