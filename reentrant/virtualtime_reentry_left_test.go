package reentrant_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// Nested calls leave while another command of the lock is in flight, before their own is
// sent. Redis then hears nothing of them: a count sent for nobody would count a goroutine twice
// that has entered by its next call meanwhile, and could make the lease longer.
func TestTimeReentryLeftBeforeItWasSent(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client().NewLock("job")
		hold, err := l.Acquire(asHolder(t))
		must(t, err)
		ctx := hold.Context()
		must(t, l.Lock(ctx)) // the script is known from now on
		v.scripts()
		v.onCommand(func(cmd string, _ []string) string {
			if cmd == "EVALSHA" {
				time.Sleep(lease / 10)
			}
			return ""
		})
		entered := make(chan error, 1)
		go func() { entered <- l.Lock(ctx) }()
		v.pass(lease / 20)
		for range 3 {
			short, cancel := context.WithTimeout(ctx, lease/100)
			wants(t, l.LockLease(short, time.Hour), reentrant.ErrNotAcquired)
			cancel()
		}
		must(t, <-entered)
		v.pass(lease / 5) // in which three counts more, and what puts them right, would go
		if n := v.scripts(); n != 1 {
			t.Errorf("%d commands for one nested call that stayed, and three that left", n)
		}
		if got := v.fields("job"); len(got) != 1 || got[hold.Owner()] != "3" {
			t.Errorf("Redis has %v", got)
		}
		if left := v.ttl("job"); left > lease {
			t.Errorf("the lock lives for %v, for a call that left", left)
		}
		v.onCommand(nil)
		for range 2 {
			must(t, l.Unlock(ctx))
		}
		must(t, hold.Release(ctx))
	})
}
