package reentrant

import (
	"container/list"
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/watchdog"
)

// maxLost bounds how many lost holds a Client remembers, of each of two kinds. The oldest are
// forgotten first: then Unlock answers ErrNotHeld, and a nested call takes the lock anew.
//
//   - Holds with a fixed lease only. Some callers let those run out, and never unlock.
//   - Those that were renewed. Their owners owe an Unlock, so there are as many as were held,
//     and of these the bound is what was held when the most were lost, if that is more: all the
//     locks of a Client may be lost at the same time. Callers that never unlock, and leave it
//     to WithMaxHold to end a hold, do not cost memory for ever.
const maxLost = 1024

// lostHold remembers that an owner lost holds which it has not unlocked yet.
//
// It has the holds of the last loss one by one, and those of earlier ones as numbers: a call
// of the owner is refused while it owes for a hold that it may take for live (owed), so the
// holds of earlier losses are fixed leases that have run out.
type lostHold struct {
	q     *queue
	owner string

	// Guarded by queue.mu.
	last    *holding   // the one that was lost last
	holds   []holdKind // its holds that were not unlocked yet, as holding.holds
	until   time.Time  // when the fixed ones of them have run out
	earlier int        // holds of earlier losses for which an Unlock is to come
	handles int        // those that are a [Hold]
	err     error      // of the last loss

	list *list.List    // of Client.lost, in which it is; guarded by Client.mu
	at   *list.Element // where; nil: forgotten; guarded by Client.mu
}

// losses are a Client's lostHolds, the oldest first. All guarded by Client.mu.
type losses struct {
	fixed   list.List // of owners that had fixed leases only
	renewed list.List // of the others
	most    int       // how many of these are remembered; less than maxLost: maxLost
}

// Renewed implements [watchdog.Handler].
func (l *lease) Renewed(validUntil time.Time) {
	l.q.mu.Lock()
	h := l.q.holder
	l.q.mu.Unlock()
	if h != nil && h.lease == l {
		aloud(func() {
			h.inform(func() { l.q.c.renewed(Event{Name: l.q.name, Owner: h.owner, ValidUntil: validUntil}) })
		})
	}
}

// Lost implements [watchdog.Handler].
func (l *lease) Lost(why watchdog.Cause) {
	reason := LeaseEnded
	if why == watchdog.CauseNotOwner {
		reason = Overridden
	}
	aloud(func() { l.q.lose(l, reason) })
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
	h.tellLost(err)
}

// endLost ends a live holding as lost. The caller has queue.mu, and tells it without.
func (h *holding) endLost(reason LossReason) *LostError {
	q, l := h.q, h.lease
	err := &LostError{Name: q.name, Owner: h.owner, Held: time.Since(h.since), Reason: reason}
	q.remember(h, l.validUntil(), err)
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

// abandon ends the holding that Close found.
func (q *queue) abandon() {
	q.mu.Lock()
	h := q.holder
	if h == nil || h.state != live {
		q.mu.Unlock()
		return
	}
	h.end(ErrClosed)
	if h.lost != nil {
		close(h.lost)
	}
	q.mu.Unlock()
	h.tellClosed()
}

// remember keeps the loss of a holding, which was valid until then, for the calls to come. The caller has queue.mu.
func (q *queue) remember(h *holding, until time.Time, err error) {
	l := q.lostBy[h.owner]
	if l == nil || !q.c.forgetLost(l) { // otherwise it is just being forgotten as the oldest
		l = &lostHold{q: q, owner: h.owner}
		if q.lostBy == nil {
			q.lostBy = make(map[string]*lostHold)
		}
		q.lostBy[h.owner] = l
	}
	for _, kind := range l.holds {
		*l.number(kind)++
	}
	l.last, l.holds, l.until, l.err = h, slices.Clone(h.holds), until, err
	h.remembered = l
	q.c.rememberLost(l, slices.ContainsFunc(h.holds, renewed))
}

// owed returns the loss of an owner that has not unlocked all that it had locked and may believe
// to hold the lock: that of a renewed hold, or of a fixed lease that has not run out. A nested
// call must hear of it, since somebody else may have held the lock meanwhile. Otherwise it is
// nil, and the owner may take the lock anew. The caller has queue.mu.
func (q *queue) owed(owner string) error {
	l := q.lostBy[owner]
	if l == nil || !slices.ContainsFunc(l.holds, renewed) && (len(l.holds) == 0 || watchdog.Passed(l.until)) {
		return nil
	}
	return l.err
}

// takeLost answers the unlock of an owner that holds nothing. The caller has
// queue.mu.
func (q *queue) takeLost(id identity) error {
	l := q.lostBy[id.owner]
	if l == nil {
		if id.lost != nil {
			return id.lost // of a hold whose Release is still to come
		}
		return q.notHeld(id.owner)
	}
	err, found := l.err, false
	if l.holds, found = withoutLast(l.holds, func(k holdKind) bool { return !k.handle }); !found && l.earlier > 0 {
		l.earlier--
	}
	l.settled()
	return err
}

// forgetLost takes one hold of that kind out of what is remembered of a lost holding: it was
// released, or its call has left and will not unlock it. A later loss of the owner stays. The
// caller has queue.mu.
func (q *queue) forgetLost(h *holding, kind holdKind) {
	l := q.lostBy[h.owner]
	if l == nil || l != h.remembered {
		return
	}
	found := false
	if l.last == h {
		l.holds, found = withoutLast(l.holds, func(k holdKind) bool { return k == kind })
	}
	if n := l.number(kind); !found && *n > 0 {
		*n--
	}
	l.settled()
}

// number counts the holds of earlier losses that are like this one.
func (l *lostHold) number(kind holdKind) *int {
	if kind.handle {
		return &l.handles
	}
	return &l.earlier
}

func renewed(kind holdKind) bool { return !kind.fixed }

// settled forgets a loss for which nothing is owed any more. The caller has queue.mu.
func (l *lostHold) settled() {
	if len(l.holds)+l.earlier+l.handles > 0 {
		return
	}
	delete(l.q.lostBy, l.owner)
	l.q.c.forgetLost(l)
}

// rememberLost and forgetLost keep the Client's lists; a queue with a lost hold
// stays in use.
func (c *Client) rememberLost(l *lostHold, renewed bool) {
	c.mu.Lock()
	most := maxLost
	l.list = &c.lost.fixed
	if renewed {
		l.list = &c.lost.renewed
		c.lost.most = max(c.lost.most, int(c.held.Load()))
		most = max(maxLost, c.lost.most)
	}
	l.at = l.list.PushBack(l)
	l.q.keep()
	begin := false
	if l.list.Len() > most {
		oldest := l.list.Remove(l.list.Front()).(*lostHold)
		oldest.at = nil
		begin = len(c.oldest) == 0
		c.oldest = append(c.oldest, oldest)
	}
	c.mu.Unlock()
	if begin {
		// On a goroutine of its own: the caller has its own queue's mutex, and two
		// queues must never be locked at once.
		c.goBackground(c.forgetOldest)
	}
}

// forgetOldest forgets what is too old. There is one at a time, as all locks may be lost at once.
func (c *Client) forgetOldest() {
	for {
		c.mu.Lock()
		l := c.oldest[0]
		c.mu.Unlock()
		l.q.mu.Lock()
		if l.q.lostBy[l.owner] == l {
			delete(l.q.lostBy, l.owner)
		}
		l.q.mu.Unlock()
		l.q.leave()
		c.mu.Lock()
		c.oldest = c.oldest[1:]
		left := len(c.oldest)
		c.mu.Unlock()
		if left == 0 {
			return
		}
	}
}

// forgetLost takes a loss off its list. It reports false if that one is just being forgotten
// as the oldest.
func (c *Client) forgetLost(l *lostHold) bool {
	c.mu.Lock()
	listed := l.at != nil
	if listed {
		l.list.Remove(l.at)
		l.at = nil
	}
	c.mu.Unlock()
	if listed {
		l.q.leave()
	}
	return listed
}

// told is the error of a Release after a loss with which the ctx of the hold has ended before. Its text is short: the work
// has returned that cause as a rule, and the two are joined.
func told(err error) error {
	lost, is := err.(*LostError)
	if !is {
		return err
	}
	return errs.Told(lost, fmt.Sprintf("redlatch: release of lock %q: it was lost before, as the ctx of the hold has said (%s)", lost.Name, lost.Reason))
}
