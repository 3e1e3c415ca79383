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

// How long a call keeps members while it waits for another. Patience ends the waits of callers
// for each other, which there are where the canonical order is not kept: by plain locks that
// are taken inside each other in the opposite order, by Redisson, by MultiLocks that see other
// addresses. It has to outlast the waits for members that others merely use, one caller after
// the other; ended before that, it begins anew with the first member, and may never be granted.
//
// A call cannot tell the two apart while it waits. So it begins with little patience. Once that
// has ended too soon, the next is as long as the whole wait was. Callers whose patience has grown
// in waits for each other would make each other's longer still. Hence the limits:
//
//   - a call goes by its own waits alone, not by those of earlier calls;
//   - a grant that comes soon after members were given back is no reason for more;
//   - a call that had to give members back does with little patience once more, in one of two cases
//     and never twice in a row, so that of two that wait for each other one soon gives way.
const (
	// leastPatience is longer than callers who keep to the order hold what is waited for, if
	// they do no more than to take the rest.
	leastPatience = 50 * time.Millisecond
	// maxLesson is the most that a single wait adds: a lock may be held for an hour. What is
	// waited for longer still is outlasted by doubling.
	maxLesson = 5 * time.Second
	// maxPause is the most between two tries of a waiting quorum on the members that it does not
	// wait for.
	maxPause = 5 * time.Second
)

// patience is that of one wait.
type patience struct {
	began time.Time
	until time.Time     // then what comes before the member is given back
	vain  bool          // it was, and there was something
	pause time.Duration // until a quorum tries the others
}

// patience is a random time for each wait, so that callers do not lose theirs together. A call
// with a limit keeps the time for one more attempt; a fixed lease must not run out meanwhile.
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

// over reports whether what the call has is to be given back.
func (p *patience) over() bool { return !time.Now().Before(p.until) }

// next is how long it takes until something is to be done.
func (p *patience) next() time.Duration {
	if p.over() {
		return p.pause - rand.N(p.pause/4+1)
	}
	return max(min(p.pause, time.Until(p.until)), time.Millisecond)
}

// learn notes what came of a wait, if members were given back for it. If the member was granted
// soon after that, it may have come of it: more patience would have made the wait longer.
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

// leastPatience is that of the first wait: a few times what a member takes, if that is more.
func (l *MultiLock) leastPatience() time.Duration {
	slowest := time.Duration(0)
	for _, m := range l.members {
		m.mu.Lock()
		slowest = max(slowest, m.pace)
		m.mu.Unlock()
	}
	return min(max(leastPatience, 4*slowest), l.cfg.limit)
}

// bounded leaves a call with a limit the time for one more attempt.
func (a *acquisition) bounded(d time.Duration) time.Duration {
	if deadline, ok := a.ctx.Deadline(); ok {
		d = min(d, time.Until(deadline)/2)
	}
	return max(d, time.Millisecond)
}

// spread is a random time, least or up to twice that.
func spread(least time.Duration) time.Duration { return least + rand.N(least) }

// noteResponseTime notes how long a member took to be held.
func (m *member) noteResponseTime(took time.Duration) {
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
