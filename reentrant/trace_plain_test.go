package reentrant_test

import (
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// plainScenarios are about one Client alone.
var plainScenarios = []scenario{
	{"lock-free", "A1 takes a free lock and releases it: one command each, and nothing is left in Redis.", func(s *scene) {
		a1 := s.owner("A1", s.client("A"))
		a1.Lock().wait()
		s.pass(time.Second)
		a1.Unlock().wait()
	}},
	{"nested", "A1 takes a lock twice and releases it twice. The nested call and its release set the hold count; the last release frees the lock, and one more is refused without a command.", func(s *scene) {
		a1 := s.owner("A1", s.client("A"))
		a1.Lock().wait()
		a1.Lock().wait()
		a1.Unlock().wait()
		a1.Unlock().wait()
		a1.Unlock().wait()
	}},
	{"nested-by-ctx", "A2 enters the lock that A1 holds, on another goroutine, with the ctx of A1's hold. It acts as A1.", func(s *scene) {
		c := s.client("A")
		a1, a2 := s.owner("A1", c), s.owner("A2", c)
		a1.Acquire().wait()
		a2.ctx = a1.hold.Context()
		a2.Acquire().wait()
		a2.Release().wait()
		a1.Release().wait()
		a2.Acquire().wait()
		a2.Release().wait()
	}},
	{"nested-long-lease", "A nested call brings the lease to its full length again. One with a longer fixed lease raises it; one with a shorter one does not shorten it.", func(s *scene) {
		a1 := s.owner("A1", s.client("A"))
		a1.Lock().wait()
		s.pass(5 * time.Second)
		a1.LockLease(time.Second).wait()
		a1.LockLease(time.Minute).wait()
		a1.Unlock().wait()
		a1.Unlock().wait()
		s.pass(11 * time.Second)
		a1.Unlock().wait()
	}},
	{"fencing", "With fencing each new hold has a token that is greater than the last. Re-entry keeps the token, a hand-off gives a new one.", func(s *scene) {
		c := s.client("A")
		a1, a2 := s.owner("A1", c, reentrant.WithFencing()), s.owner("A2", c, reentrant.WithFencing())
		a1.Acquire().wait()
		outer := a1.hold
		a1.Acquire().wait()
		a1.Release().wait()
		a1.hold = outer
		waiting := a2.Acquire()
		s.pass(100 * time.Millisecond)
		a1.Release().wait()
		waiting.wait()
		a2.Release().wait()
	}},
	{"extend", "A fixed lease is extended, and then runs out. Extend never shortens it.", func(s *scene) {
		a1 := s.owner("A1", s.client("A"))
		a1.Acquire(reentrant.WithFixedLease(2 * time.Second)).wait()
		s.pass(time.Second)
		for _, d := range []time.Duration{5 * time.Second, time.Second} {
			a1.begin("Extend "+d.String(), func() []any { return results(a1.hold.Extend(a1.ctx, d)) }).wait()
		}
		s.pass(6 * time.Second)
		a1.begin("Extend 1s", func() []any { return results(a1.hold.Extend(a1.ctx, time.Second)) }).wait()
	}},
	{"release-after", "A1 releases its hold and leaves the lock to nobody for 800 ms. B1, who waits, is told to look at the new end, and has the lock then; A1 itself finds it busy. B1 is not the first of the registry, and so does not listen to the common channel, on which the message comes too.", func(s *scene) {
		a1, b1 := s.owner("A1", s.client("A")), s.owner("B1", s.client("B"))
		a1.Acquire().wait()
		s.tell("Redis", "has a Client in the registry, D, that is dead")
		s.words.add(deadClient, "D")
		s.redis("ZADD", "redlatch_waiters:{job}", 1, deadClient)
		waiting := b1.Lock()
		s.pass(500 * time.Millisecond)
		a1.begin("ReleaseAfter 800ms", func() []any { return results(a1.hold.ReleaseAfter(a1.ctx, 800*time.Millisecond)) }).wait()
		a1.TryLock(0).wait()
		s.sometime(time.Second)
		waiting.wait()
		b1.Unlock().wait()
	}},
	{"foreign-key", "The key holds something that is not a lock. It is left alone, and whoever wants the lock is told.", func(s *scene) {
		s.tell("Redis", "has a string at job")
		s.redis("SET", "job", "mine")
		a1 := s.owner("A1", s.client("A"))
		a1.Lock().wait()
		a1.TryLock(0).wait()
		a1.ForceUnlock().wait()
	}},
	{"replicas-missing", "A wants the confirmation of one replica for each lock, and there is none: the lock is given back.", func(s *scene) {
		a1 := s.owner("A1", s.client("A", reentrant.WithReplicaAcks(1, 100*time.Millisecond)))
		a1.Lock().wait()
		s.pass(time.Second)
	}},
	{"queries", "What A1 and A2 ask about the lock: one script a question.", func(s *scene) {
		c := s.client("A")
		a1, a2 := s.owner("A1", c), s.owner("A2", c)
		a1.Lock().wait()
		for _, a := range []*actor{a1, a2} {
			a.begin("IsHeld", func() []any { return two(a.lock.IsHeld(a.ctx)) }).wait()
			a.begin("HoldCount", func() []any { return two(a.lock.HoldCount(a.ctx)) }).wait()
		}
		a2.begin("IsLocked", func() []any { return two(a2.lock.IsLocked(a2.ctx)) }).wait()
		a2.begin("TTL", func() []any { return two(a2.lock.TTL(a2.ctx)) }).wait()
		a1.Unlock().wait()
		a2.begin("IsLocked", func() []any { return two(a2.lock.IsLocked(a2.ctx)) }).wait()
	}},
}

func two[T any](v T, err error) []any { return results(v, err) }
