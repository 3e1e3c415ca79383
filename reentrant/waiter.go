package reentrant

import (
	"context"
	"strings"
	"time"
)

// waiter is one call in the queue.
type waiter struct {
	request
	answers int // lockState.answers at the beginning

	notified chan struct{} // capacity 1: look at your state
	gone     chan struct{} // closed when the call has left without the lock; made when it leads

	// All guarded by lockState.mu.
	state          waiterState
	hold           *ownership // when granted
	refusal        error      // when refused
	failing        time.Time  // since when Redis has failed those who led before it, and answered none; zero: not known
	unknownOutcome bool       // a command that would make it the holder was sent and not answered
	handedBy       *ownership // who has handed the lock over to it
	prev, next     *waiter    // in the queue

	handOffTold bool // its hand-over was told; for its call only
}

// newWaiter reuses the waiters of hand-offs. Those of one Client only: a channel made
// in one bubble of testing/synctest must not turn up in another.
func (c *Client) newWaiter() *waiter {
	if w, spare := c.spare.Get().(*waiter); spare {
		return w
	}
	return &waiter{notified: make(chan struct{}, 1)}
}

// recycle is for the call whose waiter it was. Only a waiter that was handed the
// lock, and has never led, is known to nobody else.
func (c *Client) recycle(w *waiter) {
	if w.handedBy == nil || w.gone != nil {
		return
	}
	select {
	case <-w.notified:
	default:
	}
	*w = waiter{notified: w.notified}
	c.spare.Put(w)
}

type waiterState int

const (
	queued   waiterState = iota // somebody of this Client is ahead
	leading                     // the head: talks to Redis
	granted                     // hold is its own
	rejoined                    // its owner has the lock by another call: re-enter
	refused                     // granted, but not as the Client demands, or ended by an outage: refusal
	left                        // ended without the lock
)

func (w *waiter) notify() {
	select {
	case w.notified <- struct{}{}:
	default:
	}
}

// request is what a call wants.
type request struct {
	ctx context.Context // the caller's, for what is told of the call
	identity
	holdKind
	lease   time.Duration
	fencing bool
	limited bool // wait is the limit
	wait    time.Duration
	member  bool          // asked for by a MultiLock, which has limits of its own
	quick   time.Duration // the limit of a single attempt (quick.go); 0: it has none
	began   time.Time
}

// single reports whether one attempt is wanted, and no wait.
func (r *request) single() bool { return r.limited && r.wait <= 0 }

// limit fires at the limit of the wait. Without one it is nil. stop is to be called in any case.
func (r *request) limit() (limit <-chan time.Time, stop func() bool) {
	d := r.wait
	if r.single() {
		d = r.quick
	}
	if !r.limited || d <= 0 {
		return nil, func() bool { return false }
	}
	timer := time.NewTimer(d - time.Since(r.began))
	return timer.C, timer.Stop
}

// waiters is a queue's list, in the order of arrival. It is linked through the waiters
// themselves: one allocation less in a path that is otherwise a hundred nanoseconds.
type waiters struct {
	first, last *waiter
	shared      map[string]int // those with a shared owner, by owner
}

func (l *waiters) add(w *waiter) {
	w.prev = l.last
	if l.last == nil {
		l.first = w
	} else {
		l.last.next = w
	}
	l.last = w
	if w.shared {
		if l.shared == nil {
			l.shared = make(map[string]int)
		}
		l.shared[w.owner]++
	}
}

func (l *waiters) remove(w *waiter) {
	if w.prev == nil {
		l.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		l.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
	if !w.shared {
		return
	}
	if l.shared[w.owner]--; l.shared[w.owner] == 0 {
		delete(l.shared, w.owner)
	}
	if len(l.shared) == 0 {
		l.shared = nil // a queue lives as long as the lock is held
	}
}

// ofOwner returns the waiters of w's owner, w itself being removed. It looks through the list
// only if there can be any: a goroutine waits in one call at a time, so of two waiters with
// one owner at least one has it from its ctx.
func (l *waiters) ofOwner(w *waiter) (same []*waiter) {
	if l.shared[w.owner] == 0 && !(w.shared && ofGoroutine(w.owner)) {
		return nil
	}
	for other := l.first; other != nil; other = other.next {
		if other.owner == w.owner {
			same = append(same, other)
		}
	}
	return same
}

// ofGoroutine reports whether an owner's field is that of a goroutine: an owner that was
// named never consists of digits alone (explicitOwner).
func ofGoroutine(field string) bool {
	_, owner, _ := strings.Cut(field, ":")
	return strings.Trim(owner, "0123456789") == ""
}
