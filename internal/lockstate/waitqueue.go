package lockstate

import "strings"

// waitQueue is a list of waiters, first come, first served. It is linked through the waiters themselves,
// which saves an allocation in a path that otherwise takes a hundred nanoseconds.
type waitQueue struct {
	first, last *Waiter
	exclusive   int            // waiters that want to be Exclusive
	anyCall     map[string]int // how many waiters have an owner for which other calls may act, by owner
}

func (l *waitQueue) add(w *Waiter) {
	w.prev = l.last
	if l.last == nil {
		l.first = w
	} else {
		l.last.next = w
	}
	l.last = w
	l.count(w)
}

// count notes for whom a waiter waits.
func (l *waitQueue) count(w *Waiter) {
	if w.Mode == Exclusive {
		l.exclusive++
	}
	if w.AnyCall {
		if l.anyCall == nil {
			l.anyCall = make(map[string]int)
		}
		l.anyCall[w.Owner]++
	}
}

// addFirst adds a waiter before the others, but behind a first one that leads.
func (l *waitQueue) addFirst(w *Waiter) {
	if l.first == nil {
		l.add(w)
		return
	}
	if l.first.state == Leading {
		w.prev, w.next = l.first, l.first.next
	} else {
		w.next = l.first
	}
	if w.prev == nil {
		l.first = w
	} else {
		w.prev.next = w
	}
	if w.next == nil {
		l.last = w
	} else {
		w.next.prev = w
	}
	l.count(w)
}

func (l *waitQueue) remove(w *Waiter) {
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
	if w.Mode == Exclusive {
		l.exclusive--
	}
	if !w.AnyCall {
		return
	}
	if l.anyCall[w.Owner]--; l.anyCall[w.Owner] == 0 {
		delete(l.anyCall, w.Owner)
	}
	if len(l.anyCall) == 0 {
		l.anyCall = nil // the list lives as long as the lock is held
	}
}

// ofOwner returns the other waiters of w's owner, in either mode; w itself is not in the list any more. It looks
// through the list only if there can be any. A goroutine waits in one call at a time, so of two
// waiters with the same owner at least one has the owner from its ctx.
func (l *waitQueue) ofOwner(w *Waiter) (same []*Waiter) {
	any := l.anyCall[w.Owner] > 0 || w.Sibling != "" && l.anyCall[w.Sibling] > 0
	if !any && !(w.AnyCall && (w.Sibling != "" || OfGoroutine(w.Owner))) {
		return nil
	}
	for other := l.first; other != nil; other = other.next {
		if other.Owner == w.Owner || w.Sibling != "" && other.Owner == w.Sibling {
			same = append(same, other)
		}
	}
	return same
}

// OfGoroutine reports whether an owner's field names a goroutine: an owner that was named never
// consists of digits alone.
func OfGoroutine(field string) bool {
	_, owner, _ := strings.Cut(field, ":")
	return strings.Trim(owner, "0123456789") == ""
}
