package multilock_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/multilock"
)

// tenure is a time in which an owner may believe that it has the lock. It begins when the call
// returns. It ends with the first of three: the call that releases the lock, the report of its loss,
// and ValidUntil.
type tenure struct {
	who         string
	from, until time.Time
}

// tenures are the tenures of one lock.
type tenures struct {
	mu   sync.Mutex
	list []tenure // guarded by mu
}

// begin notes a hold that was just granted. The function it returns is to be called
// right before the hold is released, or when its loss is known.
func (h *tenures) begin(who string, hold *multilock.Hold) (end func()) {
	from := time.Now()
	return func() {
		until := time.Now()
		if v := hold.ValidUntil(); v.Before(until) {
			until = v
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.list = append(h.list, tenure{who, from, until})
	}
}

func (h *tenures) len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.list)
}

// disjoint fails the test if two of them overlap.
func (h *tenures) disjoint(t testing.TB) {
	t.Helper()
	if n := h.overlaps(); n > 0 {
		t.Errorf("%d overlaps: %v", n, h.list)
	}
}

// overlaps sorts the tenures. It counts the ones that begin before another one has ended.
func (h *tenures) overlaps() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	slices.SortFunc(h.list, func(a, b tenure) int { return a.from.Compare(b.from) })
	var until time.Time
	for _, x := range h.list {
		if x.from.Before(until) {
			n++
		}
		if x.until.After(until) {
			until = x.until
		}
	}
	return n
}

func (x tenure) String() string {
	return fmt.Sprintf("%s %s to %s", x.who, x.from.Format("05.000000"), x.until.Format("05.000000"))
}
