package multilock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redlatch/redlatch/multilock"
)

// The lock is another process' all the time, and servers are sound: false, nil for all callers of
// this process, whenever they come.
func TestBusyBehindAnother(t *testing.T) {
	for _, servers := range []int{1, 2, 3} {
		for _, kind := range []string{"all", "quorum"} {
			for _, wait := range []time.Duration{30 * time.Millisecond, 300 * time.Millisecond, 3 * time.Second} {
				t.Run(fmt.Sprint(servers, kind, wait), func(t *testing.T) {
					inVirtualTime(t, servers, func(t *testing.T, v *virtual) {
						lock := func(f fleet) *multilock.MultiLock {
							if kind == "all" {
								return f.all(t, name)
							}
							return f.quorum(t, name)
						}
						a, b := v.process(), v.process()
						hold, err := lock(a).Acquire(v.ctx)
						must(t, err)
						l := lock(b)
						first := begin(func() error { return l.Lock(as(v.ctx, "first")) })
						v.pass(10 * time.Millisecond)
						var tries []*pending
						for i := range 3 {
							owner := fmt.Sprint("owner", i)
							tries = append(tries, begin(func() error {
								ok, err := l.TryLock(as(v.ctx, owner), wait, 0)
								if ok || err != nil {
									t.Errorf("rival %d: TryLock = %v, %v", i, ok, err)
								}
								return err
							}))
							v.pass(10 * time.Millisecond)
						}
						for _, try := range tries {
							<-try.done
						}
						must(t, hold.Release(v.ctx))
						<-first.done
						must(t, first.err)
						must(t, l.Unlock(as(v.ctx, "first")))
					})
				})
			}
		}
	}
}

// One member is another process' all the time, and somebody of this process waits for it already.
// Servers are sound: TryLock of a lock of all is false, nil.
func TestOneMemberBusyBehindAnother(t *testing.T) {
	for _, wait := range []time.Duration{30 * time.Millisecond, 300 * time.Millisecond, 3 * time.Second} {
		for _, busy := range []int{0, 1, 2} {
			t.Run(fmt.Sprint(wait, busy), func(t *testing.T) {
				inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
					a, b := v.process(), v.process()
					x := as(v.ctx, "x")
					must(t, a[busy].NewLock(name).Lock(x))
					l := b.all(t, name)
					first := begin(func() error { return b[busy].NewLock(name).Lock(as(v.ctx, "first")) })
					v.pass(10 * time.Millisecond)
					ok, err := l.TryLock(as(v.ctx, "second"), wait, 0)
					if ok || err != nil {
						t.Errorf("TryLock = %v, %v", ok, err)
					}
					must(t, a[busy].NewLock(name).Unlock(x))
					<-first.done
					must(t, first.err)
					must(t, b[busy].NewLock(name).Unlock(as(v.ctx, "first")))
				})
			})
		}
	}
}
