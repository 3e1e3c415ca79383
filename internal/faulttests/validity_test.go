package faulttests

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// The answer to a command that took the lock is lost, and the command is repeated a
// while later. The hold may be trusted no longer than Redis keeps the lock, whichever
// of the two runs it counts from.
func TestFault09ValidityAfterLostReply(t *testing.T) {
	t.Parallel()
	const patience, lease = 400 * time.Millisecond, time.Second
	for _, script := range []string{"acquire", "transfer", "count"} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			r := newFaultRig(t).warm(t)
			c := faultClient(t, r.through(t, locktest.Impatience(patience)))
			l, me, you := c.NewLock("l"), owner(t.Context(), "me"), owner(t.Context(), "you")
			lost := func() {
				r.proxy.Add(faultproxy.Rule{Match: scriptIs(script), Times: 1, Action: faultproxy.SwallowReply})
			}
			holds := make(chan *reentrant.Hold, 1)
			acquire := func() {
				hold, err := l.Acquire(you, reentrant.WithFixedLease(lease))
				if err != nil {
					t.Errorf("Acquire: %v", err)
				}
				holds <- hold
			}
			switch script {
			case "acquire":
				lost()
				acquire()
			case "transfer":
				must(t, l.Lock(me))
				go acquire()
				redistest.Eventually(t, 5*time.Second, "somebody waits", func() bool { return c.Stats().Waiting == 1 })
				lost()
				must(t, l.Unlock(me))
			case "count":
				must(t, l.LockLease(you, lease/2))
				lost()
				acquire()
			}
			hold := locktest.InTime(t, 5*time.Second, "the hold", holds)
			if hold == nil {
				return
			}
			asked := time.Now()
			left := time.Duration(r.Do(t, "PTTL", "l").(int64)) * time.Millisecond
			if beyond := hold.ValidUntil().Sub(asked) - left; beyond > 0 {
				t.Errorf("trusted for %v longer than the %v that the key has left", beyond, left)
			}
		})
	}
}
