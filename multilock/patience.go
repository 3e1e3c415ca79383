package multilock

import (
	"errors"
	"math/rand/v2"
	"time"
)

// Once a round is decided, the members that have not answered get a moment more. A sound member is
// worth having, and a silent one must not cost every call the whole of its limit. The length of that
// moment depends on what is known of the members.
const (
	// leastGrace is for members that were silent the last time.
	leastGrace = 10 * time.Millisecond
	// usualGrace is for members of which nothing is known.
	usualGrace = 50 * time.Millisecond
)

// grace is how long to wait for the members that have not answered yet, when the answers that decided
// the round took so long. It is never more than the members' limit.
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

// Patience is how long a call keeps members while it waits for another one. It ends the waits of
// callers for each other. Such waits arise where the canonical order is not kept: by plain locks that
// are taken inside each other in the opposite order, by Redisson, by MultiLocks that see other
// addresses. Patience has to outlast the waits for members that others merely use, one caller after
// the other. If it ends before that, the call begins anew with the first member, and may never be
// granted.
//
// A call cannot tell the two cases apart while it waits. So it begins with little patience. Once that
// has ended too soon, the next patience is as long as the whole wait was. Callers whose patience has
// grown in waits for each other would make each other's patience longer still. Hence the limits:
//
//   - a call goes by its own waits alone, not by those of earlier calls;
//   - a grant that comes soon after members were given back is no reason for more patience;
//   - a call that had to give members back tries with little patience once more, in one of two cases
//     and never twice in a row: of two calls that wait for each other, one soon gives way.
const (
	// leastPatience is enough for callers who keep to the order and only have to take the rest: they
	// hold the awaited member for less than this.
	leastPatience = 50 * time.Millisecond
	// maxLesson is the most that a single wait adds to the patience: a lock may be held for an hour.
	// Doubling outlasts what is waited for longer still.
	maxLesson = 5 * time.Second
	// maxPause is the longest pause of a waiting quorum between two tries on the members that it does
	// not wait for.
	maxPause = 5 * time.Second
)

// patience is the patience of one wait.
type patience struct {
	began time.Time
	until time.Time     // then the members before the awaited one are given back
	vain  bool          // there were such members, and they were given back
	pause time.Duration // until a quorum tries the other members
}

// patience begins the patience of a wait. Its length is random, so that callers do not lose theirs
// together. A call with a limit keeps the time for one more attempt. A fixed lease must not run out
// during the wait.
func (a *acquisition) patience() patience {
	p := patience{began: time.Now(), pause: a.bounded(spread(a.l.leastPatience()))}
	keep := p.pause
	if a.vain > 0 && !a.timid {
		keep = a.bounded(spread(max(a.vain, a.l.leastPatience())))
	}
	if a.terms.Lease != 0 {
		keep = min(keep, a.terms.Lease/2)
	}
	if !a.l.quorum {
		p.pause = keep
	}
	p.until = p.began.Add(keep)
	return p
}

// over reports whether the patience has ended: the members that the call has are to be given back.
func (p *patience) over() bool { return !time.Now().Before(p.until) }

// next is the time until the waiting call has something to do.
func (p *patience) next() time.Duration {
	if p.over() {
		return p.pause - rand.N(p.pause/4+1)
	}
	return max(min(p.pause, time.Until(p.until)), time.Millisecond)
}

// learn draws the lesson from a wait for which members were given back. If the awaited member was
// granted soon after that, giving them back may be why: more patience would have made the wait
// longer, so the patience does not grow.
func (a *acquisition) learn(p patience, x memberHold) {
	if !p.vain {
		return
	}
	a.timid = !a.timid && rand.N(2) == 0
	kept, alone := p.until.Sub(p.began), time.Since(p.until)
	if x.held() && alone > kept/4 {
		a.vain = max(a.vain, min(kept+alone, max(maxLesson, 2*kept)))
	}
}

// leastPatience is the patience of the first wait: leastPatience, or four times what the slowest
// member took to be granted if that is more, and never more than the members' limit.
func (l *MultiLock) leastPatience() time.Duration {
	slowest := time.Duration(0)
	for _, m := range l.members {
		m.mu.Lock()
		slowest = max(slowest, m.pace)
		m.mu.Unlock()
	}
	return min(max(leastPatience, 4*slowest), l.cfg.limit)
}

// bounded shortens d so that a call with a limit has the time for one more attempt.
func (a *acquisition) bounded(d time.Duration) time.Duration {
	if deadline, ok := a.ctx.Deadline(); ok {
		d = min(d, time.Until(deadline)/2)
	}
	return max(d, time.Millisecond)
}

// spread is a random time, least or up to twice that.
func spread(least time.Duration) time.Duration { return least + rand.N(least) }

// noteResponseTime notes how long the member took to be granted and checked.
func (m *member) noteResponseTime(took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pace, m.silent = took, false
}

// noteSilence notes whether an attempt that ended with err was silent.
func (m *member) noteSilence(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.silent = errors.Is(err, ErrNoAnswer); m.silent {
		m.pace = 0
	}
}
