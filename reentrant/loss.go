package reentrant

import (
	"container/list"
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/watchdog"
)

// maxLost bounds how many owners with lost holds a Client remembers, separately for two kinds. It forgets
// the oldest first. For a forgotten one Unlock returns ErrNotHeld, and a nested call takes the lock anew.
// The kinds:
//
//   - Only holds with a fixed lease. Some callers let those run out, and never unlock.
//   - At least one renewed hold. Such an owner owes an Unlock. All the locks of a Client may be lost at
//     the same time, so the bound is as many as the Client held when most were lost, if that is more.
//     Some callers never unlock, and leave it to WithMaxHold to end a hold. They do not cost memory for
//     ever.
const maxLost = 1024

// lostHold remembers holds that an owner has lost and not unlocked yet.
//
// It has the holds of the last loss one by one. Of earlier losses it has only numbers. While an owner
// owes an unlock for a hold that it may take for live (lossOwed), its calls are refused. So the holds of
// earlier losses are fixed leases that have run out.
type lostHold struct {
	s     *lockState
	owner string

	// Guarded by lockState.mu.
	last    *ownership // the ownership that was lost last
	holds   []holdKind // its holds that were not unlocked yet, as ownership.holds
	until   time.Time  // when its fixed leases have run out
	earlier int        // holds of earlier losses that wait for an Unlock
	handles int        // holds of earlier losses that wait for a [Hold.Release]
	err     error      // of the last loss

	list *list.List    // the list of Client.lost that has it; guarded by Client.mu
	at   *list.Element // its place there; nil: forgotten; guarded by Client.mu
}

// losses are a Client's lostHolds, the oldest first. All guarded by Client.mu.
type losses struct {
	fixed   list.List // owners that had fixed leases only
	renewed list.List // owners that had a renewed hold
	most    int       // bound of renewed, if more than maxLost
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

// lose ends the live ownership of a lease as lost, and tells that. If the ownership has ended already,
// lose does nothing.
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

// endLost ends a live ownership as lost. The caller has lockState.mu, and tells the loss without it.
func (o *ownership) endLost(reason LossReason) *LostError {
	s, l := o.s, o.lease
	err := &LostError{Name: s.name, Owner: o.owner, Held: time.Since(o.since), Reason: reason}
	s.rememberLoss(o, l.validUntil(), err)
	switch {
	case reason != LeaseEnded:
	case l.renewed, l.extendedForNobody:
		// Renewals may have run without an answer, or may still run. So may a re-entry whose call has
		// left. Without a clean-up the lock would stay taken for one lease more.
		l.cleanUp(l.expiry())
	default:
		l.cleanUpAtEnd()
	}
	o.end(err)
	if o.lost != nil {
		close(o.lost) // last: then the hold's ctx has its cause already
	}
	s.promote()
	return err
}

// abandon ends the ownership that is still live when Close gives up.
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

// rememberLoss keeps the loss of an ownership for later calls. The ownership was valid until the instant
// until. The caller has lockState.mu.
func (s *lockState) rememberLoss(o *ownership, until time.Time, err error) {
	l := s.lostBy[o.owner]
	if l == nil || !s.c.forgetLost(l) { // otherwise forgetOldest is about to forget l
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

// lossOwed returns the loss of an owner that may believe that it still holds the lock. Such an owner has
// not unlocked a renewed hold, or a fixed lease that has not run out. A nested call must hear of the
// loss: another owner may have held the lock meanwhile. Otherwise lossOwed returns nil, and the owner may
// take the lock anew. The caller has lockState.mu.
func (s *lockState) lossOwed(owner string) error {
	l := s.lostBy[owner]
	if l == nil || !slices.ContainsFunc(l.holds, renewed) && (len(l.holds) == 0 || watchdog.Passed(l.until)) {
		return nil
	}
	return l.err
}

// takeLoss returns the error of an unlock whose owner holds nothing. The caller has lockState.mu.
func (s *lockState) takeLoss(id identity) error {
	l := s.lostBy[id.owner]
	if l == nil {
		if id.lost != nil {
			return id.lost // the loss of a hold whose Release has not come yet
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

// forgetLoss removes one hold of that kind from what the Client remembers of a lost ownership. The hold
// was released, or its call has left and will not unlock it. A later loss of the owner stays. The caller
// has lockState.mu.
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

// number is the counter of earlier losses for holds of that kind.
func (l *lostHold) number(kind holdKind) *int {
	if kind.handle {
		return &l.handles
	}
	return &l.earlier
}

func renewed(kind holdKind) bool { return !kind.fixed }

// settled forgets the losses of an owner that owes no unlock any more. The caller has lockState.mu.
func (l *lostHold) settled() {
	if len(l.holds)+l.earlier+l.handles > 0 {
		return
	}
	delete(l.s.lostBy, l.owner)
	l.s.c.forgetLost(l)
}

// rememberLost adds a loss to the Client's list, and forgetLost removes it. A lock state with a lost hold
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
		// On a goroutine of its own: the caller has the mutex of its lock state, and no goroutine may
		// lock two lock states at once.
		c.goBackground(c.forgetOldest)
	}
}

// forgetOldest forgets the losses in Client.oldest. One goroutine at a time does so, as all locks may be
// lost at once.
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

// forgetLost removes a loss from its list. It reports false if forgetOldest is about to forget it.
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

// told is the error of a Release after a loss that the hold's ctx has told already. Its text is short:
// the work has usually returned that cause, and the program joins the two errors.
func told(err error) error {
	lost, is := err.(*LostError)
	if !is {
		return err
	}
	return errs.Told(lost, fmt.Sprintf("redlatch: release of lock %q: it was lost before, as the ctx of the hold has said (%s)", lost.Name, lost.Reason))
}
