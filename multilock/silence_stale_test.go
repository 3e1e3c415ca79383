package multilock_test

import (
	"fmt"
	"testing"
	"time"
)

// Three servers say at first that the lock is another's and fall silent for good. Meanwhile others of
// this process ask two of them. At the limit nothing is known: not busy.
func TestSilenceAfterAWord(t *testing.T) {
	for _, wait := range []time.Duration{3 * time.Second, 4 * time.Second, 6 * time.Second} {
		t.Run(fmt.Sprint(wait), func(t *testing.T) {
			inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
				a, b := v.process(), v.process()
				hold, err := a.quorum(t, name).Acquire(v.ctx)
				must(t, err)
				l := b.quorum(t, name)
				try := begin(func() error {
					ok, err := l.TryLock(as(v.ctx, "x"), wait, 0)
					if ok || err == nil {
						t.Errorf("TryLock = %v, %v after silence of all servers", ok, err)
					}
					t.Log(err)
					return err
				})
				v.pass(10 * time.Millisecond)
				var ends []func()
				for _, s := range v.s {
					ends = append(ends, s.silence())
				}
				var others []*pending
				for _, c := range b {
					others = append(others, begin(func() error { return c.NewLock(name).Lock(as(v.ctx, "other")) }))
				}
				<-try.done
				for i, o := range others {
					t.Log(i, over(o.done))
				}
				for _, end := range ends {
					end()
				}
				for i, o := range others {
					<-o.done
					if o.err == nil {
						must(t, b[i].NewLock(name).Unlock(as(v.ctx, "other")))
					}
				}
				_ = hold.Release(v.ctx)
				v.pass(10 * lease)
			})
		})
	}
}
