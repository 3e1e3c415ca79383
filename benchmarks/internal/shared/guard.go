//go:build unix

package shared

import "sync/atomic"

// Guard counts who is inside a lock at this moment: a reader as 1, who has the lock alone as alone.
type Guard struct{ inside *atomic.Int64 }

// GuardAt is the guard that counts in the given word.
func GuardAt(word *atomic.Int64) Guard { return Guard{word} }

// alone is more than all readers together.
const alone = 1 << 32

// Enter reports whether nobody else is inside.
func (g Guard) Enter() bool { return g.inside.Add(alone) == alone }

// Leave reports the same at the end, when somebody may have come who saw us leave.
func (g Guard) Leave() bool { return g.inside.Add(-alone) == 0 }

// EnterReading reports whether nobody is inside but other readers.
func (g Guard) EnterReading() bool { return g.inside.Add(1) < alone }

// LeaveReading reports the same at the end.
func (g Guard) LeaveReading() bool { return g.inside.Add(-1) < alone }
