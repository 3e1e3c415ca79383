package faulttests

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
)

// The field follows by one command in 5 ms and not as fast as Redis answers, however often the
// holder changes; in between, others may send commands about the lock.
func TestBehindFollowsAtItsPace(t *testing.T) {
	const duration = 300 * time.Millisecond
	r := newFaultRig(t).warm(t)
	// A way to Redis that is longer than the lock is held: at the end of each move there is
	// another holder already.
	moves := r.proxy.Add(faultproxy.Rule{Match: scriptIs("transfer"), Action: faultproxy.Delay(2 * time.Millisecond)})
	c := faultClient(t, r.through(t), locktest.WriteBehind)
	l := c.NewLock("l")
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), duration)
	defer cancel()
	var group sync.WaitGroup
	for range 64 {
		group.Go(func() {
			for ctx.Err() == nil {
				if err := l.Lock(t.Context()); err != nil {
					t.Error(err)
					return
				}
				time.Sleep(100 * time.Microsecond)
				if err := l.Unlock(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	asked := 0
	for ctx.Err() == nil {
		if _, err := l.IsLocked(ctx); err == nil {
			asked++
		}
		pause := time.NewTimer(20 * time.Millisecond)
		<-pause.C
	}
	group.Wait()
	// Each question may have the field moved once more.
	most := int(time.Since(began)/(5*time.Millisecond)) + asked + 10
	t.Logf("%d hand-offs, %d moves, %d questions answered", c.Stats().HandedOver, moves.Hits(), asked)
	if moves.Hits() > most {
		t.Errorf("%d moves in %v, want at most %d", moves.Hits(), time.Since(began), most)
	}
	if asked < 5 {
		t.Errorf("%d questions were answered", asked)
	}
}
