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
	s     *lockState
	owner string

	// Guarded by lockState.mu.
	last    *ownership // the one that was lost last
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
	if l.s.c.mute {
		return // 100,000 held locks are 100,000 calls a period
	}
	l.s.mu.Lock()
	o := l.s.holder
	l.s.mu.Unlock()
	if o != nil && o.lease == l {
		mustReturn(func() {
			o.inform(func() { l.s.c.renewed(Event{Name: l.s.name, Owner: o.owner, ValidUntil: validUntil}) })
		})
	}
}

// Lost implements [watchdog.Handler].
func (l *lease) Lost(why watchdog.Cause) {
	reason := LeaseEnded
	if why == watchdog.CauseNotOwner {
		reason = Overridden
	}
	mustReturn(func() { l.s.lose(l, reason) })
}

// lose ends the live ownership on a lease as lost and tells everybody. It does nothing if
// there is none any more.
func (s *lockState) lose(l *lease, reason LossReason) {
	s.mu.Lock()
	o := s.holder
	if o == nil || o.lease != l || o.state != live {
		s.mu.Unlock()
		return
	}
	err := o.endLost(reason)
	s.mu.Unlock()
	o.tellLost(err)
}

// endLost ends a live ownership as lost. The caller has lockState.mu, and tells it without.
func (o *ownership) endLost(reason LossReason) *LostError {
	s, l := o.s, o.lease
	err := &LostError{Name: s.name, Owner: o.owner, Held: time.Since(o.since), Reason: reason}
	s.rememberLoss(o, l.validUntil(), err)
	switch {
	case reason != LeaseEnded:
	case l.renewed, l.extendedForNobody:
		// Renewals may have run unanswered, or may still, and so may a re-entry
		// that nobody waited for: the lock would stay taken for a lease more.
		l.cleanUp(l.expiry())
	default:
		l.cleanUpAtEnd()
	}
	o.end(err)
	if o.lost != nil {
		close(o.lost) // last: whoever hears it finds the cause in the hold's ctx
	}
	s.promote()
	return err
}

// abandon ends the ownership that Close found.
func (s *lockState) abandon() {
	s.mu.Lock()
	o := s.holder
	if o == nil || o.state != live {
		s.mu.Unlock()
		return
	}
	o.end(ErrClosed)
	if o.lost != nil {
		close(o.lost)
	}
	s.mu.Unlock()
	o.tellClosed()
}

// rememberLoss keeps the loss of an ownership, which was valid until then, for the calls to come. The caller has lockState.mu.
func (s *lockState) rememberLoss(o *ownership, until time.Time, err error) {
	l := s.lostBy[o.owner]
	if l == nil || !s.c.forgetLost(l) { // otherwise it is just being forgotten as the oldest
		l = &lostHold{s: s, owner: o.owner}
		if s.lostBy == nil {
			s.lostBy = make(map[string]*lostHold)
		}
		s.lostBy[o.owner] = l
	}
	for _, kind := range l.holds {
		*l.number(kind)++
	}
	l.last, l.holds, l.until, l.err = o, slices.Clone(o.holds), until, err
	o.remembered = l
	s.c.rememberLost(l, slices.ContainsFunc(o.holds, renewed))
}

// lossOwed returns the loss of an owner that has not unlocked all that it had locked and may believe
// to hold the lock: that of a renewed hold, or of a fixed lease that has not run out. A nested
// call must hear of it, since somebody else may have held the lock meanwhile. Otherwise it is
// nil, and the owner may take the lock anew. The caller has lockState.mu.
func (s *lockState) lossOwed(owner string) error {
	l := s.lostBy[owner]
	if l == nil || !slices.ContainsFunc(l.holds, renewed) && (len(l.holds) == 0 || watchdog.Passed(l.until)) {
		return nil
	}
	return l.err
}

// takeLoss answers the unlock of an owner that holds nothing. The caller has
// lockState.mu.
func (s *lockState) takeLoss(id identity) error {
	l := s.lostBy[id.owner]
	if l == nil {
		if id.lost != nil {
			return id.lost // of a hold whose Release is still to come
		}
		return s.notHeld(id.owner)
	}
	err, found := l.err, false
	if l.holds, found = withoutLast(l.holds, func(k holdKind) bool { return !k.handle }); !found && l.earlier > 0 {
		l.earlier--
	}
	l.settled()
	return err
}

// forgetLoss takes one hold of that kind out of what is remembered of a lost holding: it was
// released, or its call has left and will not unlock it. A later loss of the owner stays. The
// caller has lockState.mu.
func (s *lockState) forgetLoss(o *ownership, kind holdKind) {
	l := s.lostBy[o.owner]
	if l == nil || l != o.remembered {
		return
	}
	found := false
	if l.last == o {
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

// settled forgets a loss for which nothing is owed any more. The caller has lockState.mu.
func (l *lostHold) settled() {
	if len(l.holds)+l.earlier+l.handles > 0 {
		return
	}
	delete(l.s.lostBy, l.owner)
	l.s.c.forgetLost(l)
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
	l.s.addUser()
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
		l.s.mu.Lock()
		if l.s.lostBy[l.owner] == l {
			delete(l.s.lostBy, l.owner)
		}
		l.s.mu.Unlock()
		l.s.dropUser()
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
		l.s.dropUser()
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
