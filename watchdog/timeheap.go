package watchdog

// A watch may be in one queue of each of these two kinds. The queues of a backlog are of one kind.
//
// There are two kinds, rather than one queue of each watch's next event, because renewals can be held
// up (all calls hang) and expiries never may be: in one queue, overdue renewals would sit on top of
// the expiries beneath them.
const (
	byExpiry = iota
	byRenewal
)

// timeHeap is a min-heap of watches by the instant at which something is due. Each watch knows its
// place in the heap, so it can be moved or taken out without a search. The heap allocates only to
// grow. The instant is kept beside the pointer so that comparing does not touch the watches
// themselves.
type timeHeap struct {
	which int // byExpiry or byRenewal
	s     []entry
}

type entry struct {
	at instant
	x  *Watch
}

func (q *timeHeap) empty() bool { return len(q.s) == 0 }

// first returns when the first watch is due. The queue must not be empty.
func (q *timeHeap) first() instant { return q.s[0].at }

// set puts x into the queue, or moves it, to be due at at.
func (q *timeHeap) set(x *Watch, at instant) {
	i := int(x.pos[q.which]) - 1
	if i < 0 {
		i = len(q.s)
		q.s = append(q.s, entry{})
		q.up(i, entry{at, x})
		return
	}
	switch was := q.s[i].at; {
	case at < was:
		q.up(i, entry{at, x})
	case at > was:
		q.down(i, entry{at, x})
	}
}

// pop takes out the first watch. The queue must not be empty.
func (q *timeHeap) pop() *Watch {
	x := q.s[0].x
	q.remove(x)
	return x
}

// remove takes x out of the queue and reports whether it was in it.
func (q *timeHeap) remove(x *Watch) bool {
	i := int(x.pos[q.which]) - 1
	if i < 0 {
		return false
	}
	x.pos[q.which] = 0
	n := len(q.s) - 1
	last := q.s[n]
	q.s[n] = entry{} // the array must not keep a watch, and so its holder, alive
	q.s = q.s[:n]
	if i == n {
		return true
	}
	if i > 0 && last.at < q.s[(i-1)/2].at {
		q.up(i, last)
	} else {
		q.down(i, last)
	}
	return true
}

// up stores e at i or above; the slot i is free to overwrite.
func (q *timeHeap) up(i int, e entry) {
	for i > 0 {
		parent := (i - 1) / 2
		if q.s[parent].at <= e.at {
			break
		}
		q.put(i, q.s[parent])
		i = parent
	}
	q.put(i, e)
}

// down stores e at i or below; the slot i is free to overwrite.
func (q *timeHeap) down(i int, e entry) {
	for {
		child := 2*i + 1
		if child >= len(q.s) {
			break
		}
		if r := child + 1; r < len(q.s) && q.s[r].at < q.s[child].at {
			child = r
		}
		if q.s[child].at >= e.at {
			break
		}
		q.put(i, q.s[child])
		i = child
	}
	q.put(i, e)
}

func (q *timeHeap) put(i int, e entry) {
	q.s[i] = e
	e.x.pos[q.which] = int32(i + 1)
}
