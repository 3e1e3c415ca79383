package reentrant

import (
	"context"
	"strings"
	"time"

	"github.com/redlatch/redlatch/internal/multi"
)

// waiter is one call in the wait queue.
type waiter struct {
	request
	answers int // outage.answers at the beginning

	notified chan struct{} // capacity 1: the call is to look at its state
	gone     chan struct{} // closed when the call has left without the lock; made when it leads

	// All guarded by lockState.mu.
	state   waiterState
	hold    *ownership // when granted
	refusal error      // the call's error, in the state refused
	// Since when it has waited in an outage that ended the wait of an earlier head; zero: not known.
	failing        time.Time
	unknownOutcome bool       // a command that would make it the holder has an unknown outcome
	handedBy       *ownership // the ownership that handed the lock over to it
	prev, next     *waiter    // in the queue

	handOffTold bool // the event of its hand-off was told; only its call uses this
}

// newWaiter makes a waiter, or reuses one of a hand-off. Each Client reuses its own only: a channel
// made in one bubble of testing/synctest must not turn up in another.
func (c *Client) newWaiter() *waiter {
	if w, spare := c.spare.Get().(*waiter); spare {
		return w
	}
	return &waiter{notified: make(chan struct{}, 1)}
}

// recycle gives a waiter back for reuse, at the end of its call. It reuses only a waiter that was
// handed the lock and has never led: nothing but its call refers to such a waiter.
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
	queued   waiterState = iota // another call of this Client is ahead
	leading                     // at the head: asks Redis
	granted                     // hold is its ownership
	rejoined                    // its owner has got the lock by another call: re-enter
	refused                     // ended with the error refusal: replicas were missing, or Redis fails
	left                        // ended without the lock
)

func (w *waiter) notify() {
	select {
	case w.notified <- struct{}{}:
	default:
	}
}

// request is what a call asks for.
type request struct {
	ctx context.Context // the caller's, for the events of the call
	identity
	holdKind
	fencing bool
	member  bool // the caller is a MultiLock, which has limits of its own
	lease   time.Duration
	terms   multi.Terms   // of the call; the lease is made from them
	quick   time.Duration // the limit of a single attempt (quick.go); 0: it has none
	began   time.Time
}

// single reports whether the call is a single attempt, without a wait.
func (r *request) single() bool { return r.terms.Limited && r.terms.Wait <= 0 }

// limit returns a channel that fires at the limit of the wait. Without a limit it is nil. The caller
// must call stop in any case.
func (r *request) limit() (limit <-chan time.Time, stop func() bool) {
	d := r.terms.Wait
	if r.single() {
		d = r.quick
	}
	if !r.terms.Limited || d <= 0 {
		return nil, func() bool { return false }
	}
	timer := time.NewTimer(d - time.Since(r.began))
	return timer.C, timer.Stop
}

// waiters is a wait queue: a list in the order of arrival. It is linked through the waiters
// themselves, which saves an allocation in a path that otherwise takes a hundred nanoseconds.
type waiters struct {
	first, last *waiter
	shared      map[string]int // how many waiters have a shared owner, by owner
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
		l.shared = nil // the list lives as long as the lock is held
	}
}

// ofOwner returns the other waiters of w's owner; w itself is not in the list any more. It looks
// through the list only if there can be any. A goroutine waits in one call at a time, so of two
// waiters with the same owner at least one has the owner from its ctx.
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

// ofGoroutine reports whether an owner's field names a goroutine: an owner that was named never
// consists of digits alone (explicitOwner).
func ofGoroutine(field string) bool {
	_, owner, _ := strings.Cut(field, ":")
	return strings.Trim(owner, "0123456789") == ""
}
