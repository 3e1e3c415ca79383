package reentrant

import (
	"time"

	"github.com/redlatch/redlatch/lua"
)

const (
	// maxHandOffs is how often in a row a lock is handed over inside this Client while
	// waiters of other clients are registered; then it goes out to them.
	maxHandOffs = 16

	// maxHandOffsBesideRedisson is the same while waiters of Redisson are there: two turns
	// of ours to one of theirs, or two.
	maxHandOffsBesideRedisson = 1

	// maxShortHandOffs and shortTurnsFor are the bounds instead where they leave more: turns
	// may be so short that sixteen of them are little beside the way to another process.
	maxShortHandOffs = 256
	shortHandOffsFor = 2 * time.Millisecond

	// aloneFor is how long after Redis has said so nobody else is taken to wait. A
	// waiter that registers meanwhile waits so much longer.
	aloneFor = 10 * time.Millisecond
)

// budget counts the hand-offs inside this Client, and bounds them while others wait.
type budget struct {
	used       int       // since the lock came to this Client, or Redis said that nobody else waits
	since      time.Time // when that was
	others     bool      // the last word of Redis: somebody else waits
	limit      int       // how many hand-offs then; 0: maxTurns
	aloneUntil time.Time // until then nobody else is taken to wait
}

// reset begins to count anew: the lock has come to this Client, or left it.
func (b *budget) reset(now time.Time) { b.used, b.since, b.aloneUntil = 0, now, time.Time{} }

// learn notes what Redis said of those who wait elsewhere. Where it cannot count the
// clients of Redisson that do, there may be some.
func (b *budget) learn(g lua.Granted, now time.Time) {
	b.others = g.Others > 0 || g.RedissonWaiters != 0
	switch {
	case g.RedissonWaiters > 0:
		b.limit = maxHandOffsBesideRedisson
	case b.others:
		b.limit = maxHandOffs
	default:
		b.used, b.since, b.aloneUntil = 0, now, now.Add(aloneFor)
		return
	}
	b.aloneUntil = time.Time{}
}

// exhausted reports whether there were as many hand-offs as others are to bear.
func (b *budget) exhausted(now time.Time) bool {
	switch {
	case b.limit == maxHandOffsBesideRedisson:
		return b.used >= maxHandOffsBesideRedisson
	case b.used < maxHandOffs:
		return false
	}
	return b.used >= maxShortHandOffs || now.Sub(b.since) >= shortHandOffsFor
}

// mustYield reports whether the lock is to go out to the others.
func (b *budget) mustYield(now time.Time) bool { return b.others && b.exhausted(now) }

// mayHandOff reports whether there may be one more hand-off without asking Redis who waits.
func (b *budget) mayHandOff(now time.Time) bool {
	if now.Before(b.aloneUntil) {
		b.used, b.since = 0, now
		return true
	}
	return !b.exhausted(now)
}
