package multilock

import (
	"errors"
	"math/rand/v2"
	"time"
)

// Once a round is decided, the members that have not answered are given a moment: a
// sound one is worth having, and a silent one must not cost every call the whole of
// its limit. How long the moment is goes by what is known of them.
const (
	// leastGrace is for members that were silent the last time.
	leastGrace = 10 * time.Millisecond
	// usualGrace is for members of which nothing is known.
	usualGrace = 50 * time.Millisecond
)

// grace is how long the members that were asked are waited for, when those that
// sufficed took so long. It is never more than the members' limit.
func (l *MultiLock) grace(took time.Duration, asked map[*member]bool) time.Duration {
	more := leastGrace
	for m := range asked {
		m.mu.Lock()
		took = max(took, m.pace)
		if !m.silent {
			more = usualGrace
		}
		m.mu.Unlock()
	}
	return min(3*took+more, l.cfg.limit)
}

// leastPatience is how long a call keeps members while it waits for another: longer than
// those who keep to the canonical order hold what it waits for, if they do no more than
// to take the rest. Redisson does not keep to it, and each of its turns in which both
// wait for the other costs as much.
const leastPatience = 50 * time.Millisecond

// patience is leastPatience or a few times what a member takes, and a random time, so
// that callers do not lose theirs together.
func (l *MultiLock) patience() time.Duration {
	slowest := time.Duration(0)
	for _, m := range l.members {
		m.mu.Lock()
		slowest = max(slowest, m.pace)
		m.mu.Unlock()
	}
	least := min(max(leastPatience, 4*slowest), l.cfg.limit)
	return least + rand.N(least)
}

// notePace notes how long a member took to be held.
func (m *member) notePace(took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pace, m.silent = took, false
}

// noteSilence notes an attempt that ended with err.
func (m *member) noteSilence(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.silent = errors.Is(err, ErrNoAnswer); m.silent {
		m.pace = 0
	}
}
