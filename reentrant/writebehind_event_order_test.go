package reentrant_test

import (
	"sync"
	"testing"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// Events of hand-offs come in the order of the hand-offs, as they do when each of them is
// confirmed: whoever hands the lock on has got it before.
func TestBehindEventsKeepTheirOrder(t *testing.T) {
	for _, mode := range []reentrant.Handoff{reentrant.Confirmed, reentrant.WriteBehind} {
		s := redistest.Start(t)
		j := &journal{}
		c := newClient(t, s.Client(t), j.all(), reentrant.WithHandoff(mode))
		l := c.NewLock("l")
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				for range 500 {
					if err := l.Lock(t.Context()); err != nil {
						t.Error(err)
						return
					}
					if err := l.Unlock(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		holder, wrong := "", 0
		for i, kind := range j.kinds {
			e := j.events[i]
			switch {
			case kind == "handed over" && e.From != holder, kind == "released" && e.Owner != holder:
				wrong++
			case kind == "acquired":
				holder = e.Owner
			}
		}
		if wrong > 0 {
			t.Errorf("mode %d: %d times, of %d events, the lock was given away by somebody who had not been told to have it", mode, wrong, len(j.kinds))
		}
	}
}
