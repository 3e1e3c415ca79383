package reentrant_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// tenure is a time in which somebody was entitled to believe that the lock was
// his: from when the call returned to the first of the call that released it, the
// news of its loss, and ValidUntil.
type tenure struct {
	who         string
	from, until time.Time
	token       int64
}

// tenures are those of one lock.
type tenures struct {
	mu   sync.Mutex
	list []tenure // guarded by mu
}

// begin notes a hold that was just granted. The function it returns is to be called
// right before the hold is released, or when its loss is known.
func (h *tenures) begin(who string, hold *reentrant.Hold) (end func()) {
	from := time.Now()
	return func() {
		until := time.Now()
		if v := hold.ValidUntil(); v.Before(until) {
			until = v
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.list = append(h.list, tenure{who, from, until, hold.Token()})
	}
}

func (h *tenures) len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.list)
}

// disjoint fails the test if two of them overlap, or if tokens do not rise in the
// order of the tenures.
func (h *tenures) disjoint(t testing.TB, note string) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	slices.SortFunc(h.list, func(a, b tenure) int { return a.from.Compare(b.from) })
	for i := 1; i < len(h.list); i++ {
		a, b := h.list[i-1], h.list[i]
		if a.until.After(b.from) {
			t.Errorf("%s: %v and %v overlap by %v", note, a, b, a.until.Sub(b.from))
		}
		if a.token != 0 && b.token <= a.token {
			t.Errorf("%s: token of %v is not above that of %v", note, b, a)
		}
	}
}

func (x tenure) String() string {
	return fmt.Sprintf("%s (%v long, token %d)", x.who, x.until.Sub(x.from), x.token)
}

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
