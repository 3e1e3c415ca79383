package multilock_test

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// An event function ends the goroutine on which the MultiLock waits for a member. The call goes on.
func TestFault42GoexitInAnEvent(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		var once sync.Once
		a := v.processWith(nil, reentrant.WithLease(lease), reentrant.WithEvents(reentrant.Events{
			Waiting: func(reentrant.Event) { once.Do(runtime.Goexit) },
		}))
		theirs := v.process().all(t, name)
		must(t, theirs.Lock(v.ctx))
		got := make(chan error, 1)
		go func() {
			ok, err := a.all(t, name).TryLock(v.ctx, time.Minute, 0)
			if err == nil && !ok {
				err = reentrant.ErrNotAcquired
			}
			got <- err
		}()
		v.pass(lease)
		must(t, theirs.Unlock(v.ctx))
		v.pass(time.Minute)
		select {
		case err := <-got:
			must(t, err)
		default:
			t.Error("the call waits for a goroutine that has ended")
		}
	})
}
