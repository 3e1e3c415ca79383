package multilock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redlatch/redlatch/multilock"
)

// When servers never answer, the lock is not busy, even if another call of this process asks them
// too. Wait 0 is excepted, a wait is not.
func TestSilentServersThatOthersAskToo(t *testing.T) {
	forBoth(t, 3, func(t *testing.T, v *virtual, lock func(fleet) *multilock.MultiLock) {
		a := v.process()
		l := lock(a)
		var speak []func()
		for _, s := range v.s {
			speak = append(speak, s.silence())
		}
		var others []*pending
		for _, c := range a {
			others = append(others, begin(func() error { return c.NewLock(name).Lock(as(v.ctx, "other")) }))
		}
		v.pass(time.Millisecond)
		ok, err := l.TryLock(as(v.ctx, "x"), 2*time.Second, 0)
		if ok || err == nil {
			t.Errorf("TryLock = %v, %v, and no server has ever answered", ok, err)
		}
		for _, other := range others {
			if over(other.done) {
				t.Errorf("other has given up: %v", other.err)
			}
		}
		for i, f := range speak {
			f()
			<-others[i].done
			if others[i].err == nil {
				must(t, a[i].NewLock(name).Unlock(as(v.ctx, "other")))
			}
		}
		v.pass(10 * lease)
	})
}

// The same with callers of the MultiLock only, all of one process and all with a limit.
func TestSilentServersManyCallers(t *testing.T) {
	for _, wait := range []time.Duration{500 * time.Millisecond, 2 * time.Second, 10 * time.Second} {
		for _, callers := range []int{2, 3, 8} {
			inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
				l := v.process().quorum(t, name)
				var speak []func()
				for _, s := range v.s {
					speak = append(speak, s.silence())
				}
				var tries []*pending
				for i := range callers {
					owner := fmt.Sprint("owner", i)
					tries = append(tries, begin(func() error {
						ok, err := l.TryLock(as(v.ctx, owner), wait, 0)
						if ok || err == nil {
							t.Errorf("wait %v, %d callers: TryLock = %v, %v, and no server has ever answered", wait, callers, ok, err)
						}
						return err
					}))
					v.pass(10 * time.Millisecond)
				}
				for _, try := range tries {
					<-try.done
				}
				for _, f := range speak {
					f()
				}
				v.pass(10 * lease)
			})
		}
	}
}
