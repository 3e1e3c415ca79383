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

// The lock is gone when it is handed over, and the first command for that is lost on its
// way. That the second finds nothing cannot be the work of the first, which would have
// left the lock with the waiter.
func TestFaultLostLockHandedOverUnanswered(t *testing.T) {
	t.Parallel()
	r := newFaultRig(t).warm(t)
	c := faultClient(t, r.through(t))
	l := c.NewLock("l")
	next := make(chan error, 1)
	err := l.Do(owner(t.Context(), "me"), func(context.Context) error {
		go func() { next <- l.Lock(owner(t.Context(), "you")) }()
		redistest.Eventually(t, 5*time.Second, "somebody waits", func() bool { return c.Stats().Waiting == 1 })
		r.Do(t, "DEL", "l")
		r.proxy.Add(faultproxy.Rule{Match: scriptIs("transfer"), Times: 1, Action: faultproxy.DropBefore})
		return nil
	})
	wants(t, err, reentrant.ErrLost)
	must(t, locktest.InTime(t, 10*time.Second, "the waiter has the lock", next))
	must(t, l.Unlock(owner(t.Context(), "you")))
}
