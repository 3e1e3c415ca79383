package reentrant

import (
	"slices"
	"time"

	"github.com/redlatch/redlatch/watchdog"
)

// maxLost bounds how many lost holds a Client remembers so that their Unlock can
// answer ErrLost. The oldest are forgotten first, and answer ErrNotHeld: callers
// that let fixed leases run out and never unlock must not cost memory for ever.
const maxLost = 1024

// lostHold remembers that an owner lost holds which it has not unlocked yet.
type lostHold struct {
	q     *queue
	owner string
	count int   // guarded by queue.mu
	err   error // of the last loss; guarded by queue.mu
}

// Renewed implements [watchdog.Handler].
func (l *lease) Renewed(validUntil time.Time) {
	l.q.mu.Lock()
	h := l.q.holder
	l.q.mu.Unlock()
	if h != nil && h.lease == l {
		l.q.c.renewed(Event{Name: l.q.name, Owner: h.owner, ValidUntil: validUntil})
	}
}

// Lost implements [watchdog.Handler].
func (l *lease) Lost(why watchdog.Cause) {
	reason := LeaseEnded
	if why == watchdog.CauseNotOwner {
		reason = Overridden
	}
	l.q.lose(l, reason)
}

// lose ends the live holding on a lease as lost and tells everybody. It does nothing if
// there is none any more.
func (q *queue) lose(l *lease, reason LossReason) {
	q.mu.Lock()
	h := q.holder
	if h == nil || h.lease != l || h.state != live {
		q.mu.Unlock()
		return
	}
	err := h.endLost(reason)
	q.mu.Unlock()
	q.c.tellLost(err)
}

// endLost ends a live holding as lost. The caller has queue.mu, and tells it without.
func (h *holding) endLost(reason LossReason) *LostError {
	q, l := h.q, h.lease
	err := &LostError{Name: q.name, Owner: h.owner, Held: time.Since(h.since), Reason: reason}
	q.remember(h, err)
	switch {
	case reason != LeaseEnded:
	case l.renewed, l.orphan:
		// Renewals may have run unanswered, or may still, and so may a re-entry
		// that nobody waited for: the lock would stay taken for a lease more.
		l.cleanUp(l.expiry())
	default:
		l.cleanUpAtEnd()
	}
	h.end(err)
	if h.lost != nil {
		close(h.lost) // last: whoever hears it finds the cause in the hold's ctx
	}
	q.promote()
	return err
}

func (c *Client) tellLost(err *LostError) {
	c.counters.losses.Add(1)
	c.observer.lost(Event{Name: err.Name, Owner: err.Owner, Held: err.Held, Err: err})
}

// abandon ends the holding that Close found.
func (q *queue) abandon() {
	q.mu.Lock()
	defer q.mu.Unlock()
	h := q.holder
	if h == nil || h.state != live {
		return
	}
	h.end(ErrClosed)
	if h.lost != nil {
		close(h.lost)
	}
}

// remember keeps the loss for the unlocks to come. The caller has queue.mu.
func (q *queue) remember(h *holding, err error) {
	if known := q.lostBy[h.owner]; known != nil && q.c.lostAgain(known) {
		known.count += h.count
		known.err = err
		h.remembered = known
		return
	}
	if q.lostBy == nil {
		q.lostBy = make(map[string]*lostHold)
	}
	l := &lostHold{q: q, owner: h.owner, count: h.count, err: err}
	q.lostBy[h.owner] = l
	h.remembered = l
	q.c.rememberLost(l)
}

// takeLost answers the unlock of an owner that holds nothing. The caller has
// queue.mu.
func (q *queue) takeLost(owner string) error {
	l := q.lostBy[owner]
	if l == nil {
		return &NotHeldError{Name: q.name, Owner: owner}
	}
	if l.count--; l.count == 0 {
		delete(q.lostBy, owner)
		q.c.forgetLost(l)
	}
	return l.err
}

// forgetLost takes one hold out of what is remembered of a lost holding: it was released, or
// its call has left and will not unlock it. A later loss of the owner stays. The caller has
// queue.mu.
func (q *queue) forgetLost(h *holding) {
	if l := q.lostBy[h.owner]; l != nil && l == h.remembered {
		q.takeLost(h.owner)
	}
}

// rememberLost and forgetLost keep the Client's list; a queue with a lost hold
// stays in use.
func (c *Client) rememberLost(l *lostHold) {
	c.mu.Lock()
	c.lost = append(c.lost, l)
	l.q.keep()
	var oldest *lostHold
	if len(c.lost) > maxLost {
		oldest = c.lost[0]
		c.lost = c.lost[1:]
	}
	c.mu.Unlock()
	if oldest == nil {
		return
	}
	// On a goroutine of its own: the caller has its own queue's mutex, and two
	// queues must never be locked at once.
	c.goBackground(func() {
		oldest.q.mu.Lock()
		if oldest.q.lostBy[oldest.owner] == oldest {
			delete(oldest.q.lostBy, oldest.owner)
		}
		oldest.q.mu.Unlock()
		oldest.q.leave()
	})
}

// lostAgain makes an owner the last one that has lost a lock. It reports false if that one
// is just being forgotten as the oldest.
func (c *Client) lostAgain(l *lostHold) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.lost, l)
	if i >= 0 {
		c.lost = append(slices.Delete(c.lost, i, i+1), l)
	}
	return i >= 0
}

func (c *Client) forgetLost(l *lostHold) {
	c.mu.Lock()
	i := slices.Index(c.lost, l)
	if i >= 0 {
		c.lost = slices.Delete(c.lost, i, i+1)
	}
	c.mu.Unlock()
	if i >= 0 {
		l.q.leave()
	}
}
