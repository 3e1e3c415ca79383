package faulttests

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// latencies are measured times.
type latencies struct {
	mu   sync.Mutex
	list []time.Duration // guarded by mu
}

func (l *latencies) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, d)
}

// at is the p-th quantile, and 0 of nothing.
func (l *latencies) at(p float64) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) == 0 {
		return 0
	}
	slices.Sort(l.list)
	return l.list[min(len(l.list)-1, int(p*float64(len(l.list))))]
}

func (l *latencies) String() string {
	return fmt.Sprintf("p50 %v, p99 %v, p99.9 %v, max %v of %d",
		l.at(.5), l.at(.99), l.at(.999), l.at(1), len(l.list))
}
