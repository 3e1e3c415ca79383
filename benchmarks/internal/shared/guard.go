//go:build unix

package shared

import "sync/atomic"

// Guard counts who is inside a lock at this moment.
type Guard struct{ inside *atomic.Int64 }

// GuardAt is the guard that counts in the given word.
func GuardAt(word *atomic.Int64) Guard { return Guard{word} }

// Enter reports whether nobody else is inside.
func (g Guard) Enter() bool { return g.inside.Add(1) == 1 }

// Leave reports the same at the end, when somebody may have come who saw us leave.
func (g Guard) Leave() bool { return g.inside.Add(-1) == 0 }
