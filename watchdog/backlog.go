package watchdog

// backlog holds the watches that wait for a renewal. It decides which one is next.
//
// First come the watches that an answer can still reach, in the order in which they came due, which
// is the order of their ends. A watch is put aside if an answer would come too late for it, by the
// round trips that were measured. Without this, when there are more leases than Redis has answers
// for:
//
//  1. A renewal is sent for a lease that ends before the answer.
//  2. It takes the place of a lease that could be kept.
//  3. That lease is too late when its turn comes, and so on until nearly all are lost.
//
// A watch aside is not given up. It is taken when a batch has room left, or when the round trips have
// become short enough. Its end is watched as ever.
type backlog struct {
	due   timeHeap // by the instant at which the renewal is due
	aside timeHeap // by the end, the latest first
}

func newBacklog() backlog {
	return backlog{due: timeHeap{which: byRenewal}, aside: timeHeap{which: byRenewal}}
}

func (b *backlog) empty() bool { return b.due.empty() && b.aside.empty() }

// len is an upper bound of the number of watches that are due.
func (b *backlog) len() int { return len(b.due.s) + len(b.aside.s) }

// dueAt is when the first watch is due.
func (b *backlog) dueAt() instant {
	switch {
	case !b.aside.empty():
		return longAgo
	case !b.due.empty():
		return b.due.first()
	}
	return never
}

// of returns when x is due, or never if it does not wait.
func (b *backlog) of(x *Watch) instant {
	switch i := x.pos[byRenewal]; {
	case i == 0:
		return never
	case x.aside:
		return longAgo
	default:
		return b.due.s[i-1].at
	}
}

// set plans x's renewal for at, or moves it.
func (b *backlog) set(x *Watch, at instant) {
	if x.aside {
		b.remove(x)
	}
	b.due.set(x, at)
}

// putAside puts x aside, or moves it there. end is when its validity ends.
func (b *backlog) putAside(x *Watch, end instant) {
	if !x.aside {
		b.due.remove(x)
		x.aside = true
	}
	b.aside.set(x, -end)
}

func (b *backlog) remove(x *Watch) {
	if x.aside {
		b.aside.remove(x)
		x.aside = false
		return
	}
	b.due.remove(x)
}

// popDue takes out the first watch that is due by now, or returns nil.
func (b *backlog) popDue(now instant) *Watch {
	if b.due.empty() || b.due.first() > now {
		return nil
	}
	return b.due.pop()
}

// popAside takes out the watch aside that ends last. It returns nil if there is none, or if that one
// ends no later than the instant after.
func (b *backlog) popAside(after instant) *Watch {
	if b.aside.empty() || -b.aside.first() <= after {
		return nil
	}
	x := b.aside.s[0].x
	b.remove(x)
	return x
}
