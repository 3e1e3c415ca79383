package faulttests

import (
	"sync"
	"testing"
	"time"
)

// noise measures, while a test runs, how late this machine wakes a goroutine that
// asked for it. Limits in milliseconds are for a machine that has nothing else to do;
// on a busy one they are widened by what the library can do nothing about.
type noise struct {
	mu    sync.Mutex
	worst time.Duration // guarded by mu
}

func listenToNoise(t testing.TB) *noise {
	n := &noise{}
	var group sync.WaitGroup
	stop := make(chan struct{})
	group.Go(func() {
		const nap = 2 * time.Millisecond
		for {
			asked := time.Now()
			select {
			case <-time.After(nap):
			case <-stop:
				return
			}
			n.mu.Lock()
			n.worst = max(n.worst, time.Since(asked)-nap)
			n.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		close(stop)
		group.Wait()
	})
	return n
}

// allow is the limit with the noise so far. Several goroutines, and the server, take
// part in what is measured, and each may have been kept waiting.
func (n *noise) allow(limit time.Duration) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return limit + 5*n.worst
}
