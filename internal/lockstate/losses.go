package lockstate

import (
	"slices"
	"time"

	"github.com/redlatch/redlatch/watchdog"
)

// Losses remembers holds that an owner has lost and not unlocked yet.
//
// It has the holds of the last loss one by one. Of earlier losses it has only numbers. While an owner
// owes an unlock for a hold that it may take for live (owed), its calls are refused. So the holds of
// earlier losses are fixed leases that have run out.
type Losses struct {
	owner string

	last    *Ownership // the ownership that was lost last
	holds   []HoldKind // its holds that were not unlocked yet
	until   time.Time  // when its fixed leases have run out
	earlier int        // holds of earlier losses that wait for an Unlock
	handles int        // holds of earlier losses that wait for a release by their callers
}

// HasLosses reports whether an owner owes an unlock for a hold that it has lost.
func (s *State) HasLosses() bool { return len(s.losses) > 0 }

// Last is the ownership that was lost last.
func (l *Losses) Last() *Ownership { return l.last }

// Lose ends the live ownership of a lease as lost. It returns nil if the ownership has ended already.
func (s *State) Lose(l *Lease, why Reason, now time.Time) *Ownership {
	o := s.HolderOf(l)
	if o == nil || o.state != Live {
		return nil
	}
	s.lost(o, why, now)
	return o
}

// Disprove ends the Shared ownerships that an answer of Redis proves lost, and returns them: Redis has granted the
// lock to a waiter that wants to be Exclusive. The engine calls it before it settles that answer.
func (s *State) Disprove(w *Waiter, now time.Time) (ended []*Ownership) {
	if w.Mode == Shared {
		return nil
	}
	for i := 0; i < len(s.owners); {
		if o := s.owners[i]; o.mode == Shared && o.state == Live {
			s.lost(o, Overridden, now)
			ended = append(ended, o)
			continue
		}
		i++
	}
	return ended
}

// lost ends a live ownership as lost. If it is one of a shared lease, that has ended for all its owners.
func (s *State) lost(o *Ownership, why Reason, now time.Time) {
	l := o.lease
	if l.shared != nil {
		o = l.shared.root
	} else {
		s.remember(o, l.ValidUntil())
	}
	switch {
	case why != LeaseEnded:
	case !s.alone(o):
		// The key lives as long as the leases of the other owners, and this owner's field with it. An Exclusive
		// field would keep out all others.
		s.cleanUp(l, now.Add(l.cfg.Lease))
	case l.renewed, l.extendedForNobody:
		// Renewals may have run without an answer, or may still run. So may a nested call's command whose
		// call has left. Without a clean-up the lock would stay taken for one lease more.
		s.cleanUp(l, l.Expiry(now))
	default:
		s.cleanUpAtEnd(l)
	}
	s.end(o, Ending{How: Lost, Reason: why, At: now})
	if l.shared != nil {
		s.endReaders(l.shared, Ending{How: Lost, Reason: why, At: now})
	}
	s.promote()
}

// remember keeps the loss of an ownership for later calls. The ownership was valid until the instant until.
func (s *State) remember(o *Ownership, until time.Time) {
	l := s.losses[o.owner]
	if l == nil || !s.engine.Forget(l) { // otherwise the Client is about to forget l
		l = &Losses{owner: o.owner}
		if s.losses == nil {
			s.losses = make(map[string]*Losses)
		}
		s.losses[o.owner] = l
	}
	for _, kind := range l.holds {
		*l.number(kind)++
	}
	l.last, l.holds, l.until = o, slices.Clone(o.holds), until
	o.losses = l
	s.engine.Remember(l, slices.ContainsFunc(o.holds, renewed))
}

// owed returns the loss of an owner that may believe that it still holds the lock. Such an owner has
// not unlocked a renewed hold, or a fixed lease that has not run out. A nested call must hear of the
// loss: another owner may have held the lock meanwhile. Otherwise owed returns nil, and the owner may
// take the lock anew.
func (s *State) owed(r *Request, now time.Time) *Losses {
	if l := s.losses[r.Owner].owed(now); l != nil || r.Sibling == "" {
		return l
	}
	return s.losses[r.Sibling].owed(now)
}

func (l *Losses) owed(now time.Time) *Losses {
	if l == nil || !slices.ContainsFunc(l.holds, renewed) && (len(l.holds) == 0 || watchdog.Left(l.until, now) <= 0) {
		return nil
	}
	return l
}

// TakeLoss counts an unlock by an owner that holds nothing, and returns the ownership that it has lost.
// It returns nil if the owner has lost none, or has unlocked as often as it had locked.
func (s *State) TakeLoss(owner string) *Ownership {
	l := s.losses[owner]
	if l == nil {
		return nil
	}
	s.takeLoss(l)
	return l.last
}

func (s *State) takeLoss(l *Losses) {
	found := false
	if l.holds, found = withoutLast(l.holds, func(k HoldKind) bool { return !k.Handle }); !found && l.earlier > 0 {
		l.earlier--
	}
	s.settled(l)
}

// Forgo removes one hold of that kind from what the Client remembers of a lost ownership. The hold was
// released, or its call has left and will not unlock it. A later loss of the owner stays.
func (s *State) Forgo(o *Ownership, kind HoldKind) {
	l := s.losses[o.owner]
	if l == nil || l != o.losses {
		return
	}
	found := false
	if l.last == o {
		l.holds, found = without(l.holds, kind)
	}
	if n := l.number(kind); !found && *n > 0 {
		*n--
	}
	s.settled(l)
}

// number is the counter of earlier losses for holds of that kind.
func (l *Losses) number(kind HoldKind) *int {
	if kind.Handle {
		return &l.handles
	}
	return &l.earlier
}

// settled forgets the losses of an owner that owes no unlock any more.
func (s *State) settled(l *Losses) {
	if len(l.holds)+l.earlier+l.handles > 0 {
		return
	}
	delete(s.losses, l.owner)
	s.engine.Forget(l)
}

// Drop forgets losses that the Client does not remember any more: it bounds their number.
func (s *State) Drop(l *Losses) {
	if s.losses[l.owner] == l {
		delete(s.losses, l.owner)
	}
}
