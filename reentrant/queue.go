package reentrant

import (
	"container/list"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/lua"
)

// queue is one lock as one Client sees it: which of its owners holds it, and who
// waits, first come first served. Only the head of the waiters talks to Redis, and
// only while none of the Client's owners holds the lock.
type queue struct {
	c     *Client
	name  string
	keys  *lua.Keys
	users int // calls, holds and clean-up that use the queue; guarded by Client.mu

	// wire is the right to have a command that changes the lock in flight. One at
	// a time: so commands run in the order of their numbers, and an answer is
	// settled before the next command builds on it. Capacity 1; full while taken.
	wire  chan struct{}
	doubt bool // a command was sent and not answered, and no epoch set since; guarded by wire

	// Capacity 1 each, written by the subscription: the head shall try again.
	wake  chan cause    // it is its turn, or messages may have been missed
	freed chan struct{} // Redisson freed the lock: everybody's turn

	mu            sync.Mutex
	holder        *holding             // live or being released; guarded by mu
	waiters       list.List            // of *waiter; guarded by mu
	owners        map[string]int       // waiters by owner; guarded by mu
	lostBy        map[string]*lostHold // guarded by mu
	since         int64                // our arrival in the registry of waiters, 0: not in it; guarded by mu
	turns         int                  // hand-offs in a row while other clients wait; guarded by mu
	maxTurns      int                  // bound of turns; guarded by mu
	afterRedisson atomic.Bool          // the last release heard of was Redisson's
	ears          *ears                // subscription of the waiters; guarded by mu
	answers       int                  // attempts that Redis answered; guarded by mu
	busy          bool                 // the last attempt of those who wait: somebody else holds the lock; guarded by mu
}

func newQueue(c *Client, l *Lock) *queue {
	return &queue{
		c:        c,
		name:     l.name,
		keys:     &l.keys,
		maxTurns: maxTurns,
		wire:     make(chan struct{}, 1),
		wake:     make(chan cause, 1),
		freed:    make(chan struct{}, 1),
	}
}

// waiter is one call in the queue.
type waiter struct {
	request
	place   *list.Element // guarded by queue.mu
	answers int           // queue.answers at the beginning

	poked chan struct{} // capacity 1: look at your state
	gone  chan struct{} // closed when the call has left without the lock

	// All guarded by queue.mu.
	state   waiterState
	hold    *holding // when granted
	refusal error    // when refused
	doubt   bool     // a command that would make it the holder was sent and not answered
}

type waiterState int

const (
	queued   waiterState = iota // somebody of this Client is ahead
	leading                     // the head: talks to Redis
	granted                     // hold is its own
	rejoined                    // its owner has the lock by another call: re-enter
	refused                     // granted, but not as the Client demands: refusal
	left                        // ended without the lock
)

// request is what a call wants.
type request struct {
	owner   string // field in the lock's hash
	lease   time.Duration
	fixed   bool // never renewed
	fencing bool
	limited bool // wait is the limit
	wait    time.Duration
	began   time.Time
}

// limit fires at the limit of the wait. Without one, or with a single attempt, it is
// nil. stop is to be called in any case.
func (r *request) limit() (limit <-chan time.Time, stop func() bool) {
	if !r.limited || r.wait <= 0 {
		return nil, func() bool { return false }
	}
	timer := time.NewTimer(r.wait - time.Since(r.began))
	return timer.C, timer.Stop
}

// lock and unlock of queue.mu are left to the callers of what follows.

// enqueue adds a waiter. With nobody of this Client ahead it leads at once.
func (q *queue) enqueue(r request) *waiter {
	w := &waiter{request: r, answers: q.answers, poked: make(chan struct{}, 1), gone: make(chan struct{})}
	w.place = q.waiters.PushBack(w)
	if q.owners == nil {
		q.owners = make(map[string]int)
	}
	q.owners[w.owner]++
	if q.holder != nil && q.c.cfg.handoff == Remote {
		// The lock will go out at the next release: be able to register with the
		// first attempt after it, or the others have it twice in a row.
		q.listen()
	}
	q.promote()
	return w
}

// remove takes a waiter out, in its final state.
func (q *queue) remove(w *waiter, final waiterState) {
	w.state = final
	q.waiters.Remove(w.place)
	if q.owners[w.owner]--; q.owners[w.owner] == 0 {
		delete(q.owners, w.owner)
	}
	if q.waiters.Len() == 0 {
		q.busy = false
		q.stopListening()
	}
	w.poke()
}

// promote lets the first waiter lead if nobody of this Client has the lock.
func (q *queue) promote() {
	if first := q.first(); first != nil && q.holder == nil && first.state == queued {
		first.state = leading
		first.poke()
	}
}

func (q *queue) first() *waiter {
	front := q.waiters.Front()
	if front == nil {
		return nil
	}
	return front.Value.(*waiter)
}

// grant makes a waiter the holder, and sends those of the same owner back to
// re-enter: nobody else could ever free the lock for them.
func (q *queue) grant(w *waiter, h *holding) {
	w.hold = h
	q.c.counters.acquired.Add(1)
	q.remove(w, granted)
	if q.owners[w.owner] == 0 {
		return
	}
	for e := q.waiters.Front(); e != nil; {
		next := e.Next()
		if same := e.Value.(*waiter); same.owner == w.owner {
			q.remove(same, rejoined)
		}
		e = next
	}
}

func (w *waiter) poke() {
	select {
	case w.poked <- struct{}{}:
	default:
	}
}

// signal tells the head to try again. It never blocks; signals that nobody has
// taken yet are one.
func (q *queue) signal(why cause) {
	select {
	case q.wake <- why:
	default:
	}
}

// signalFreed is signal for a release by Redisson.
func (q *queue) signalFreed() {
	select {
	case q.freed <- struct{}{}:
	default:
	}
}
