package history

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Log is an append-only record. It is safe for use by many goroutines.
type Log struct {
	base time.Time

	mu     sync.Mutex
	next   int64   // guarded by mu; the last ID given
	ops    []Op    // guarded by mu; in the order of ID
	faults []Fault // guarded by mu; in the order of ID
}

// New makes an empty log whose clock begins now.
func New() *Log { return &Log{base: time.Now()} }

// Now reads the log's clock.
func (l *Log) Now() Instant { return l.At(time.Now()) }

// At turns a time into an instant of the log's clock, by the monotonic reading if t
// has one.
func (l *Log) At(t time.Time) Instant { return Instant(t.Sub(l.base)) }

// Call notes the beginning of an operation, at this instant, and returns its ID. Until
// [Log.Return] it counts as one that may take effect at any time.
func (l *Log) Call(op Op) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	op.Call, op.Return, op.Outcome = l.Now(), Never, Unknown
	return l.addLocked(op)
}

// Return completes an operation: complete sets what is known of it now. The instant
// of the return is taken before anything else.
func (l *Log) Return(id int64, complete func(*Op)) {
	now := l.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if op := l.findLocked(id); op != nil {
		op.Return = now
		complete(op)
	}
}

// Add notes an operation that is complete. A Call of 0 stands for this instant.
func (l *Log) Add(op Op) int64 {
	now := l.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if op.Call == 0 {
		op.Call = now
	}
	if op.Return == 0 {
		op.Return = now
	}
	return l.addLocked(op)
}

func (l *Log) addLocked(op Op) int64 {
	l.next++
	op.ID = l.next
	l.ops = append(l.ops, op)
	return op.ID
}

// findLocked returns nil for an operation that [Log.Take] has taken away.
func (l *Log) findLocked(id int64) *Op {
	i, found := slices.BinarySearchFunc(l.ops, id, func(op Op, id int64) int { return cmp.Compare(op.ID, id) })
	if !found {
		return nil
	}
	return &l.ops[i]
}

// Begin notes that a fault begins now, and returns its ID for [Log.End].
func (l *Log) Begin(f Fault) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	f.ID, f.Start, f.End = l.next, l.Now(), Never
	l.faults = append(l.faults, f)
	return f.ID
}

// End notes that a fault is over.
func (l *Log) End(id int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := len(l.faults) - 1; i >= 0; i-- {
		if l.faults[i].ID == id {
			l.faults[i].End = l.Now()
			return
		}
	}
}

// Fault notes a fault that is over already.
func (l *Log) Fault(f Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	f.ID = l.next
	l.faults = append(l.faults, f)
}

// History is what a log has recorded: a copy.
type History struct {
	Ops    []Op
	Faults []Fault
}

// Snapshot returns all that was recorded so far.
func (l *Log) Snapshot() History {
	l.mu.Lock()
	defer l.mu.Unlock()
	return History{append([]Op(nil), l.ops...), append([]Fault(nil), l.faults...)}
}

// Take returns all that was recorded and empties the log; the clock goes on. It is for
// long runs, between two stretches with nothing under way.
func (l *Log) Take() History {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := History{l.ops, l.faults}
	l.ops, l.faults = nil, nil
	return h
}
