package reentrant

import (
	"container/list"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/lockstate"
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

// lostOwner is what one owner has lost of one lock, as the Client remembers it.
type lostOwner struct {
	s    *lockState
	what *lockstate.Losses
	list *list.List // that has it
}

// losses are what a Client remembers of losses, the oldest first. All guarded by Client.mu.
type losses struct {
	fixed   list.List // of owners that had fixed leases only
	renewed list.List // of owners that had a renewed hold
	most    int       // bound of renewed, if more than maxLost

	at     map[*lockstate.Losses]*list.Element // where each is
	oldest []lostOwner                         // to be forgotten; forgetOldest runs while it is not empty
}

// lose ends the live ownership of a lease as lost, and tells that. If the ownership has ended already,
// lose does nothing.
func (s *lockState) lose(l *lockstate.Lease, reason lockstate.Reason) {
	s.mu.Lock()
	var lost *LostError
	of := s.state.Lose(l, reason, time.Now())
	if of != nil {
		lost = ownershipOf(of).lossErr()
	}
	s.mu.Unlock()
	if of != nil {
		ownershipOf(of).tellFound(lost)
	}
}

// abandon ends the ownerships that are still live when Close gives up.
func (s *lockState) abandon() {
	s.mu.Lock()
	ended := s.state.Abandon(time.Now())
	s.mu.Unlock()
	for _, of := range ended {
		ownershipOf(of).tellClosed()
	}
}

// takeLoss returns the error of an unlock whose owner holds nothing. The caller has lockState.mu.
func (s *lockState) takeLoss(id identity) error {
	if of := s.state.TakeLoss(id.owner); of != nil {
		return ownershipOf(of).err
	}
	if id.lost != nil {
		return id.lost // the loss of a hold whose Release has not come yet
	}
	return s.notHeld(id.owner)
}

// rememberLoss adds a loss to the Client's list, and forgetLoss removes it. A lock state with a lost hold
// stays in use.
func (c *Client) rememberLoss(s *lockState, what *lockstate.Losses, renewed bool) {
	c.mu.Lock()
	all := &c.lost
	most := maxLost
	x := lostOwner{s: s, what: what, list: &all.fixed}
	if renewed {
		x.list = &all.renewed
		all.most = max(all.most, int(c.held.Load())) // with the roots of shared leases, which does no harm
		most = max(maxLost, all.most)
	}
	if all.at == nil {
		all.at = make(map[*lockstate.Losses]*list.Element)
	}
	all.at[what] = x.list.PushBack(x)
	s.addUser()
	begin := false
	if x.list.Len() > most {
		oldest := x.list.Remove(x.list.Front()).(lostOwner)
		delete(all.at, oldest.what)
		begin = len(all.oldest) == 0
		all.oldest = append(all.oldest, oldest)
	}
	c.mu.Unlock()
	if begin {
		// On a goroutine of its own: the caller has the mutex of its lock state, and no goroutine may
		// lock two lock states at once.
		c.goBackground(c.forgetOldest)
	}
}

// forgetOldest forgets the oldest losses. One goroutine at a time does so, as all locks may be lost at once.
func (c *Client) forgetOldest() {
	for {
		c.mu.Lock()
		x := c.lost.oldest[0]
		c.mu.Unlock()
		x.s.mu.Lock()
		x.s.state.Drop(x.what)
		x.s.mu.Unlock()
		x.s.dropUser()
		c.mu.Lock()
		c.lost.oldest = c.lost.oldest[1:]
		left := len(c.lost.oldest)
		c.mu.Unlock()
		if left == 0 {
			return
		}
	}
}

// forgetLoss removes a loss from its list. It reports false if forgetOldest is about to forget it.
func (c *Client) forgetLoss(what *lockstate.Losses) bool {
	c.mu.Lock()
	at, listed := c.lost.at[what]
	var x lostOwner
	if listed {
		x = at.Value.(lostOwner)
		x.list.Remove(at)
		delete(c.lost.at, what)
	}
	c.mu.Unlock()
	if listed {
		x.s.dropUser()
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
