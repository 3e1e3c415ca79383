package reentrant_test

import (
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// handOver has A1 take the lock and A2 wait for it, in a Client with that mode.
func handOver(s *scene, mode reentrant.Handoff) (a1, a2 *actor, waiting *underWay) {
	c := s.client("A", reentrant.WithHandoff(mode))
	a1, a2 = s.owner("A1", c), s.owner("A2", c)
	a1.Lock().wait()
	waiting = a2.Lock()
	s.pass(200 * time.Millisecond)
	return a1, a2, waiting
}

// handoffScenarios are about to whom a lock goes.
var handoffScenarios = []scenario{
	{"handoff-confirmed", "A1 releases while A2 of the same Client waits: one script hands the lock over, and A2 has it when Redis has confirmed that.", func(s *scene) {
		a1, a2, waiting := handOver(s, reentrant.Confirmed)
		a1.Unlock().wait()
		waiting.wait()
		s.pass(200 * time.Millisecond)
		a2.Unlock().wait()
	}},
	{"handoff-remote", "The same with hand-off Remote: A1 frees the lock in Redis, and A2 takes it as any other.", func(s *scene) {
		a1, a2, waiting := handOver(s, reentrant.Remote)
		a1.Unlock().wait()
		waiting.wait()
		s.pass(200 * time.Millisecond)
		a2.Unlock().wait()
		s.pass(2 * time.Second)
	}},
	{"handoff-write-behind", "The same with write-behind: A2 has the lock at once, on the lease that A1 had, and the field in Redis follows.", func(s *scene) {
		a1, a2, waiting := handOver(s, reentrant.WriteBehind)
		a1.Unlock().wait()
		waiting.wait()
		s.pass(200 * time.Millisecond)
		a2.Unlock().wait()
	}},
	{"handoff-write-behind-chain", "Three hand-offs within 2 ms, write-behind. The field in Redis follows at most every 5 ms: A3 comes and goes, and never appears there.", func(s *scene) {
		a1, a2, second := handOver(s, reentrant.WriteBehind)
		a3, a4 := s.owner("A3", s.clients["A"]), s.owner("A4", s.clients["A"])
		third := a3.Lock()
		fourth := a4.Lock()
		s.pass(time.Millisecond)
		a1.Unlock().wait()
		second.wait()
		s.pass(time.Millisecond)
		a2.Unlock().wait()
		third.wait()
		s.pass(time.Millisecond)
		a3.Unlock().wait()
		fourth.wait()
		s.pass(100 * time.Millisecond)
		a4.Unlock().wait()
	}},
	{"handoff-write-behind-silent", "Redis keeps the transfers of a write-behind hand-off to itself for 12 s. Either field may stand, so the renewal names both owners. When Redis answers again the field follows, and the old transfers are void.", func(s *scene) {
		s.server.fault(fault{command: "transfer", what: late(12 * time.Second)})
		a1, a2, waiting := handOver(s, reentrant.WriteBehind)
		a1.Unlock().wait()
		waiting.wait()
		s.pass(9900 * time.Millisecond)
		s.server.heal()
		s.tell("Redis", "answers again")
		s.sometime(9 * time.Second)
		a2.Unlock().wait()
	}},
	{"handoff-lost", "The lock is gone when A1 hands it over to A2: A1 is told that it has lost it, and A2 asks for the lock as any other.", func(s *scene) {
		a1, a2, waiting := handOver(s, reentrant.Confirmed)
		s.tell("Redis", "loses the lock")
		s.redis("DEL", "job")
		a1.Unlock().wait()
		waiting.wait()
		a2.Unlock().wait()
	}},
	{"turns-bound", "A1 and A2 hand the lock over to each other while B1 of another Client waits: 16 times, and then the lock is freed, for B1.", func(s *scene) {
		a1, a2, waiting := handOver(s, reentrant.Confirmed)
		b1 := s.owner("B1", s.client("B"))
		other := b1.Lock()
		s.pass(20 * time.Millisecond)
		holder, next := a1, a2
		for turn := 1; !ended(other.done); turn++ {
			s.tell("A", "release %d", turn)
			holder.Unlock().wait()
			if turn > 16 {
				break
			}
			waiting.wait()
			waiting = holder.Lock()
			s.pass(3 * time.Millisecond)
			holder, next = next, holder
		}
		other.wait()
		s.pass(100 * time.Millisecond)
		b1.Unlock().wait()
		waiting.wait()
		next.Unlock()
		s.pass(100 * time.Millisecond)
	}},
}
