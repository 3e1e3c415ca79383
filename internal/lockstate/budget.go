package lockstate

import "time"

const (
	// maxHandOffs is how often in a row this Client hands a lock over inside while waiters of other
	// Clients are registered. After that the lock goes out to them.
	maxHandOffs = 16

	// maxHandOffsBesideRedisson is the same while Redisson's waiters wait: two turns of this Client,
	// then one or two of Redisson's.
	maxHandOffsBesideRedisson = 1

	// maxShortHandOffs and shortHandOffsFor are the bounds instead where they allow more. Turns may
	// be so short that sixteen of them take little time beside the way to another process.
	maxShortHandOffs = 256
	shortHandOffsFor = 2 * time.Millisecond

	// aloneFor is how long the Client relies on Redis' answer that no other client waits. A waiter
	// that registers meanwhile waits that much longer.
	aloneFor = 10 * time.Millisecond
)

// Elsewhere is what Redis says of the clients that wait, besides this one.
type Elsewhere struct {
	Clients  int // of Redlatch
	Redisson int // of Redisson; negative: Redis cannot count them
}

// budget counts the hand-offs inside this Client, and bounds them while others wait.
type budget struct {
	used       int       // hand-offs since the lock came here, or Redis said that no other client waits
	since      time.Time // when that was
	others     bool      // by Redis' last answer another client waits
	limit      int       // how many hand-offs are allowed then; 0: maxHandOffs
	aloneUntil time.Time // until then the Client assumes that no other client waits
}

// reset begins to count anew: the lock has come to this Client, or left it.
func (b *budget) reset(now time.Time) { b.used, b.since, b.aloneUntil = 0, now, time.Time{} }

// learn notes what Redis said of the clients that wait elsewhere. If Redis cannot count Redisson's
// waiters, there may be some.
func (b *budget) learn(e Elsewhere, now time.Time) {
	b.others = e.Clients > 0 || e.Redisson != 0
	switch {
	case e.Redisson > 0:
		b.limit = maxHandOffsBesideRedisson
	case b.others:
		b.limit = maxHandOffs
	default:
		b.used, b.since, b.aloneUntil = 0, now, now.Add(aloneFor)
		return
	}
	b.aloneUntil = time.Time{}
}

// exhausted reports whether this Client has handed the lock over as often as waiters elsewhere must
// accept.
func (b *budget) exhausted(now time.Time) bool {
	switch {
	case b.limit == maxHandOffsBesideRedisson:
		return b.used >= maxHandOffsBesideRedisson
	case b.used < maxHandOffs:
		return false
	}
	return b.used >= maxShortHandOffs || now.Sub(b.since) >= shortHandOffsFor
}

// mustYield reports whether the lock must go out to waiters elsewhere.
func (b *budget) mustYield(now time.Time) bool { return b.others && b.exhausted(now) }

// mayHandOff reports whether one more hand-off is allowed without asking Redis for waiters elsewhere.
func (b *budget) mayHandOff(now time.Time) bool {
	if now.Before(b.aloneUntil) {
		b.used, b.since = 0, now
		return true
	}
	return !b.exhausted(now)
}
