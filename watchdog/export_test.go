package watchdog

import (
	"math/rand/v2"
	"slices"
	"time"
)

// MaxHelpers is what is promised of maxHelpers, and not taken from it.
const MaxHelpers = 4

// MaxOverdue is promised of calls that were given up.
const MaxOverdue = 32

func PassedBy(t, now, wall time.Time) bool { return left(t, now, wall) <= 0 }

// SetWall replaces the wall clock; before the first Add.
func (w *Watchdog) SetWall(f func(now time.Time) time.Time) { w.wall = f }

// DueNow makes every watch one whose first third passed within the last half
// second, in random order, without telling the watchdog's goroutine.
func (w *Watchdog) DueNow() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	for _, e := range slices.Clone(w.expiries.s) {
		due := now.Add(-rand.N(500 * time.Millisecond))
		x := e.x
		x.renew = true
		x.validUntil = Validity(due.Add(-w.lease/3), w.lease)
		w.expiries.set(x, w.at(x.validUntil))
		w.renewing.set(x, w.at(due))
	}
}

// Kick makes the watchdog's goroutine look.
func (w *Watchdog) Kick() { w.signal() }

// Aside is how many watches have been put aside.
func (w *Watchdog) Aside() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.renewing.aside.s)
}

// Queue is the heap of watches, for a test of its own.
type Queue struct{ timeHeap }

func (q *Queue) Set(x *Watch, at int64)    { q.set(x, instant(at)) }
func (q *Queue) Remove(x *Watch) bool      { return q.remove(x) }
func (q *Queue) Pop() (x *Watch, at int64) { at = int64(q.first()); return q.pop(), at }
func (q *Queue) Len() int                  { return len(q.s) }
