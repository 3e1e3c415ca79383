package faulttests

import (
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/reentrant"
)

// Several calls wait for a lock of which Redis has said nothing: none of them may
// report that it is busy, also not those that wait behind another.
func TestFault08SilenceIsNotBusy(t *testing.T) {
	t.Parallel()
	r := newFaultRig(t).warm(t)
	c := faultClient(t, r.through(t, locktest.Impatience(time.Second)))
	l := c.NewLock("l")
	r.proxy.Blackhole(true, true, faultproxy.Any)
	defer r.proxy.Heal()
	var wg sync.WaitGroup
	for _, name := range []string{"first", "second", "third"} {
		wg.Go(func() {
			ok, err := l.TryLock(owner(t.Context(), name), 200*time.Millisecond, 0)
			if ok {
				t.Errorf("%s has the lock", name)
			}
			wants(t, err, reentrant.ErrNotAcquired)
		})
	}
	wg.Wait()
}
