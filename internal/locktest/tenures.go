package locktest

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

// Tenures are those of one lock.
type Tenures struct {
	mu   sync.Mutex
	list []tenure // guarded by mu
}

// Begin notes a hold that was just granted. The function it returns is to be called
// right before the hold is released, or when its loss is known.
func (h *Tenures) Begin(who string, hold *reentrant.Hold) (end func()) {
	from := time.Now()
	return func() { h.end(who, hold, from, time.Now()) }
}

// Len is how many tenures have been noted.
func (h *Tenures) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.list)
}

// Disjoint fails the test if two of them overlap, or if tokens do not rise in the
// order of the tenures.
func (h *Tenures) Disjoint(t testing.TB, note string) {
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

// Note notes a tenure that ends now and was not lost: of one that was, nobody can say when its
// goroutine, which was kept waiting, would have looked.
func (h *Tenures) Note(who string, hold *reentrant.Hold, from time.Time) {
	until := time.Now()
	if !Ended(hold.Lost()) {
		h.end(who, hold, from, until)
	}
}

func (h *Tenures) end(who string, hold *reentrant.Hold, from, until time.Time) {
	if v := hold.ValidUntil(); v.Before(until) {
		until = v
	}
	h.Add(who, from, until, hold.Token())
}

// Add notes a tenure that another process has told of.
func (h *Tenures) Add(who string, from, until time.Time, token int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, tenure{who, from, until, token})
}

// Trusted leaves out the tenures that were over before their call had returned, and strips
// the readings of the monotonic clock, which another process does not have.
func (h *Tenures) Trusted() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = slices.DeleteFunc(h.list, func(x tenure) bool { return !x.until.After(x.from) })
	for i := range h.list {
		h.list[i].from, h.list[i].until = h.list[i].from.Round(0), h.list[i].until.Round(0)
	}
}
