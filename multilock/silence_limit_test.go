package multilock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// TestSilenceAtTheLimitIsNotBusy with several rivals in one process.
func TestSilenceAtTheLimitOfMany(t *testing.T) {
	const wait = 10 * time.Second
	for _, callers := range []int{2, 5} {
		inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
			a, b := v.process(), v.process()
			hold, err := a.quorum(t, name).Acquire(v.ctx)
			must(t, err)
			l := b.quorum(t, name)
			var tries []*pending
			for i := range callers {
				owner := fmt.Sprint("owner", i)
				tries = append(tries, begin(func() error {
					ok, err := l.TryLock(as(v.ctx, owner), wait, 0)
					if ok || err == nil {
						t.Errorf("%d rivals: TryLock = %v, %v after 9.8 s of silence", callers, ok, err)
					}
					return err
				}))
			}
			v.pass(lease / 5)
			var ends []func()
			for _, s := range v.s {
				ends = append(ends, s.silence())
			}
			for _, try := range tries {
				<-try.done
			}
			for _, end := range ends {
				end()
			}
			wants(t, hold.Release(v.ctx), reentrant.ErrLost)
		})
	}
}

// The lock is another process', and servers are sound: false, nil for all.
func TestBusyForAll(t *testing.T) {
	for _, callers := range []int{1, 2, 8} {
		inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
			a, b := v.process(), v.process()
			hold, err := a.quorum(t, name).Acquire(v.ctx)
			must(t, err)
			l := b.quorum(t, name)
			var tries []*pending
			for i := range callers {
				owner := fmt.Sprint("owner", i)
				tries = append(tries, begin(func() error {
					ok, err := l.TryLock(as(v.ctx, owner), 300*time.Millisecond, 0)
					if ok || err != nil {
						t.Errorf("%d rivals: TryLock = %v, %v", callers, ok, err)
					}
					return err
				}))
			}
			for _, try := range tries {
				<-try.done
			}
			must(t, hold.Release(v.ctx))
		})
	}
}
