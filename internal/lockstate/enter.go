package lockstate

import "time"

// Entry is what becomes of a call that wants the lock.
type Entry struct {
	Kind EntryKind
	Of   *Ownership // Upgrade: the Shared one; Busy: that is ahead, if it is one of this Client's; otherwise the owner's
	Loss *Losses    // Owed
}

// EntryKind says which.
type EntryKind int8

const (
	Wait     EntryKind = iota // Enqueue
	Reenter                   // the owner has the lock: one hold more
	Outdated                  // the hold that the call's ctx comes from has ended: find its owner anew
	Owed                      // the owner has lost the lock, and may believe that it still holds it
	Busy                      // a single attempt, and another call or owner is ahead
	Refuse                    // the Client closes
	Upgrade                   // the owner is Shared, and wants to be Exclusive: it would wait for itself
	Admitted                  // the owner is one of the shared lease now: nothing to send
	Nests                     // the owner is one of the shared lease, and has one hold more: nothing to send
	Perished                  // the owner was one of the shared lease, which was over: this has ended it
)

// Enter decides what becomes of a call. of is the ownership that the call's ctx comes from, or nil.
func (s *State) Enter(r *Request, of *Ownership, now time.Time) Entry {
	holds := s.Owner(r.Owner)
	if of != nil && (of != holds || of.state != Live) {
		return Entry{Kind: Outdated}
	}
	switch {
	case holds == nil || holds.state != Live:
	case !holds.Reader():
		return Entry{Kind: Reenter, Of: holds}
	case s.nest(holds, r, now):
		return Entry{Kind: Nests, Of: holds}
	default:
		return Entry{Kind: Perished, Of: holds}
	}
	if lost := s.owed(r, now); lost != nil {
		return Entry{Kind: Owed, Loss: lost}
	}
	if of := s.sibling(r); of != nil && of.state == Live && r.Mode == Exclusive {
		return Entry{Kind: Upgrade, Of: of}
	}
	if s.closing {
		return Entry{Kind: Refuse}
	}
	if s.mayAdmit(r, now) {
		return Entry{Kind: Admitted, Of: s.admit(r, now)}
	}
	if r.Single {
		if ahead := s.aheadOf(r); ahead != nil || s.waiting.first != nil && !s.downgrades(r) {
			return Entry{Kind: Busy, Of: ahead}
		}
	}
	return Entry{Kind: Wait}
}

// Enqueue adds a waiter to the wait queue. If no owner and no waiter is ahead, it leads at once.
func (s *State) Enqueue(w *Waiter) {
	w.patience.answers = s.outage.answers
	if s.downgrades(&w.Request) {
		w.SharedField = "" // the other readers of the shared lease would read beside its write
		// Past the queue: the waiters in it wait for this very owner. None of them leads, since the owner is
		// Exclusive. Another call of the owner may downgrade already, and leads.
		s.waiting.addFirst(w)
	} else {
		s.waiting.add(w)
	}
	if s.aheadOf(&w.Request) != nil && s.cfg.Handoff == Never {
		// The next release frees the lock for other clients. Subscribe now, so that the first attempt
		// after it can register this Client. Otherwise the others have the lock twice in a row.
		s.engine.Listen()
	}
	s.promote()
	if w.Ticket != "" && w.state == Queued {
		s.engine.LineUp() // the first one's own attempt does it
	}
}

// promote lets the first waiter lead if no owner of this Client keeps it from asking Redis.
func (s *State) promote() {
	if w := s.waiting.first; w != nil && w.state == Queued && s.keptBy(&w.Request) == nil {
		w.state, w.led = Leading, true
		w.Call.Notify()
	}
}

// remove takes a waiter out of the wait queue, in its final state.
func (s *State) remove(w *Waiter, final WaiterState) {
	w.state = final
	s.waiting.remove(w)
	if final != Granted && w.place != untold {
		s.depart(w.Ticket)
	}
	if s.waiting.first == nil {
		s.busy = false
		s.engine.StopListening()
	}
	w.Call.Notify()
}

// refuse ends a wait with an error that is not about this waiter alone.
func (s *State) refuse(w *Waiter, err error) {
	w.refusal = err
	s.remove(w, Refused)
}

// grant gives a waiter its ownership. Other waiters of the same owner, in either mode, have to enter again: they
// would wait for their own owner.
func (s *State) grant(w *Waiter, o *Ownership) {
	w.ownership = o
	w.place = untold // the script that has made its owner an owner has taken the ticket out
	s.remove(w, Granted)
	for _, same := range s.waiting.ofOwner(w) {
		s.remove(same, Rejoined)
	}
	if w.Mode == Shared && w.SharedField == "" {
		s.promote() // the next one may share the lock
	}
}

// Leave takes a waiter out of the wait queue. Its call ends without the lock.
func (s *State) Leave(w *Waiter, now time.Time) {
	s.remove(w, Left)
	if w.unknownOutcome {
		s.engine.CleanUp(w.Field(), nil, now.Add(w.Lease))
	}
	s.promote()
	s.leaveRegistry()
}

// GiveBack takes back the hold of a call that left at the moment of its grant. Another call of the same
// owner may have entered since; its hold stays. It reports whether there is a command to send, and
// whether the hold was the last.
func (s *State) GiveBack(o *Ownership, kind HoldKind, now time.Time) (send, last bool) {
	if o.state != Live {
		s.Forgo(o, kind) // its call will not unlock it
		return false, false
	}
	if o.Reader() {
		last = s.releaseReader(o, kind, now) == Free
		return last, last
	}
	o.pop(kind, now)
	return true, o.state == Releasing
}
