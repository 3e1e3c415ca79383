package lockstate

import (
	"cmp"
	"slices"
	"strings"
)

// In a fair lock the waiters of all Clients stand in one line, in Redis. There each waiter has a ticket, which is
// another one for each wait. The wait queue is this Client's part of the line, in the same order: Redis is told of
// the waiters from the first to the last, so those whose tickets it has are the first ones.
//
// A ticket that may be in the line is taken out once: by the script that makes its owner an owner of the lock, or
// by a command of its own when the wait has ended without the lock.

// place is where a waiter's ticket is.
type place int8

const (
	untold   place = iota // Redis was not told of it
	doubtful              // a command that puts it into the line has an unknown outcome
	inLine                // Redis has confirmed that it is in the line; it may have been dropped since
)

// At most so many tickets go with one command. To be dropped a ticket has to be the first of the line, so the first
// ones of this Client are enough to look after.
const (
	maxNewcomers = 256
	maxOld       = 64
	maxDeparted  = 128
)

// InLine reports whether Redis has confirmed that the waiter's ticket is in the line.
func (w *Waiter) InLine() bool { return w.place == inLine }

// Newcomers are the waiters of which Redis has to be told, in their order.
func (s *State) Newcomers() (added []*Waiter) {
	for w := s.waiting.last; w != nil && w.place != inLine; w = w.prev {
		if w.Ticket != "" {
			added = append(added, w)
		}
	}
	slices.Reverse(added)
	return added[:min(len(added), maxNewcomers)]
}

// OldInLine are the first waiters of which Redis was told, in their order.
func (s *State) OldInLine() (old []*Waiter) {
	for w := s.waiting.first; w != nil && len(old) < maxOld; w = w.next {
		if w.place == inLine {
			old = append(old, w)
		}
	}
	return old
}

// Lines reports whether a waiter of a fair lock waits here.
func (s *State) Lines() bool {
	for w := s.waiting.first; w != nil; w = w.next {
		if w.Ticket != "" {
			return true
		}
	}
	return false
}

// LinedUp notes that Redis has put the waiters into the line. A waiter that has left meanwhile has to be taken out.
func (s *State) LinedUp(all ...*Waiter) { s.put(inLine, all) }

// MaybeLinedUp is LinedUp after a command with an unknown outcome.
func (s *State) MaybeLinedUp(all ...*Waiter) { s.put(doubtful, all) }

func (s *State) put(where place, all []*Waiter) {
	for _, w := range all {
		switch {
		case w.state != Queued && w.state != Leading:
			s.depart(w.Ticket)
		case w.place < where:
			w.place = where
		}
	}
}

// depart has a ticket taken out of the line.
func (s *State) depart(ticket string) {
	s.departed = append(s.departed, ticket)
	s.engine.LeaveLine()
}

// Departed are tickets whose waiters have left, and that may be in the line. Those that came first are first: Redis
// looks for each from the front of the line, and would pass most of the others each time if thousands leave at once.
func (s *State) Departed() []string {
	slices.SortFunc(s.departed, byArrival)
	return slices.Clone(s.departed[:min(len(s.departed), maxDeparted)])
}

// byArrival compares tickets by their numbers, which rise.
func byArrival(a, b string) int {
	a, b = a[strings.LastIndexByte(a, '#')+1:], b[strings.LastIndexByte(b, '#')+1:]
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// LeftLine notes that the first so many of the departed are out of the line.
func (s *State) LeftLine(many int) {
	s.departed = s.departed[many:]
	if len(s.departed) == 0 {
		s.departed = nil
	}
}
