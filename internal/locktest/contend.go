package locktest

import (
	"sync"
	"testing"

	"github.com/redlatch/redlatch/reentrant"
)

// Contend has goroutines of several Clients count under one lock. The number is
// guarded by the lock alone, so the race detector watches as well.
func Contend(t *testing.T, name string, clients []*reentrant.Client, goroutines, rounds int) {
	t.Helper()
	var number int // guarded by the lock
	var group sync.WaitGroup
	for _, c := range clients {
		for range goroutines {
			group.Go(func() {
				l := c.NewLock(name)
				for range rounds {
					if err := l.Lock(t.Context()); err != nil {
						t.Error(err)
						return
					}
					number++
					if err := l.Unlock(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	group.Wait()
	if want := goroutines * rounds * len(clients); number != want {
		t.Errorf("counted to %d, want %d", number, want)
	}
}
