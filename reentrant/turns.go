package reentrant

import (
	"time"

	"github.com/redlatch/redlatch/lua"
)

const (
	// maxTurns is how often in a row a lock is handed over inside this Client while
	// waiters of other clients are registered; then it goes out to them.
	maxTurns = 16

	// maxTurnsBesideRedisson is the same while waiters of Redisson are there: two turns
	// of ours to one of theirs, or two.
	maxTurnsBesideRedisson = 1

	// maxShortTurns and shortTurnsFor are the bounds instead where they leave more: turns
	// may be so short that sixteen of them are little beside the way to another process.
	maxShortTurns = 256
	shortTurnsFor = 2 * time.Millisecond

	// quietFor is how long after Redis has said so nobody else is taken to wait. A
	// waiter that registers meanwhile waits so much longer.
	quietFor = 10 * time.Millisecond
)

// turns counts the hand-offs inside this Client, and bounds them while others wait.
type turns struct {
	taken  int       // since the lock came to this Client, or Redis said that nobody else waits
	since  time.Time // when that was
	others bool      // the last word of Redis: somebody else waits
	most   int       // how many hand-offs then; 0: maxTurns
	quiet  time.Time // until then nobody else is taken to wait
}

// restart begins to count anew: the lock has come to this Client, or left it.
func (t *turns) restart(now time.Time) { t.taken, t.since, t.quiet = 0, now, time.Time{} }

// told notes what Redis said of those who wait elsewhere. Where it cannot count the
// clients of Redisson that do, there may be some.
func (t *turns) told(g lua.Granted, now time.Time) {
	t.others = g.Others > 0 || g.Strangers != 0
	switch {
	case g.Strangers > 0:
		t.most = maxTurnsBesideRedisson
	case t.others:
		t.most = maxTurns
	default:
		t.taken, t.since, t.quiet = 0, now, now.Add(quietFor)
		return
	}
	t.quiet = time.Time{}
}

// spent reports whether there were as many hand-offs as others are to bear.
func (t *turns) spent(now time.Time) bool {
	switch {
	case t.most == maxTurnsBesideRedisson:
		return t.taken >= maxTurnsBesideRedisson
	case t.taken < maxTurns:
		return false
	}
	return t.taken >= maxShortTurns || now.Sub(t.since) >= shortTurnsFor
}

// over reports whether the lock is to go out to the others.
func (t *turns) over(now time.Time) bool { return t.others && t.spent(now) }

// unasked reports whether there may be one more hand-off without asking Redis who waits.
func (t *turns) unasked(now time.Time) bool {
	if now.Before(t.quiet) {
		t.taken, t.since = 0, now
		return true
	}
	return !t.spent(now)
}
