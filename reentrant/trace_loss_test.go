package reentrant_test

import (
	"time"
)

// lossScenarios are about locks that are lost.
var lossScenarios = []scenario{
	{"lost-forced", "B1 forces the lock of A1. A finds that out at its next renewal, and A1's release says it.", func(s *scene) {
		a1, b1 := s.owner("A1", s.client("A")), s.owner("B1", s.client("B"))
		a1.Lock().wait()
		b1.ForceUnlock().wait()
		b1.Lock().wait()
		s.pass(11 * time.Second)
		a1.Unlock().wait()
		b1.Unlock().wait()
	}},
	{"lost-forced-here", "A2 forces the lock of A1, of its own Client, which is told at once.", func(s *scene) {
		c := s.client("A")
		a1, a2 := s.owner("A1", c), s.owner("A2", c)
		a1.Lock().wait()
		a2.ForceUnlock().wait()
		a1.Unlock().wait()
	}},
	{"lost-found-by-release", "Redis has forgotten the lock when A1 releases it.", func(s *scene) {
		a1 := s.owner("A1", s.client("A"))
		a1.Lock().wait()
		s.tell("Redis", "loses the lock")
		s.redis("DEL", "job")
		a1.Unlock().wait()
		a1.Unlock().wait()
	}},
	{"lost-in-an-outage", "Redis refuses renewals until the lease ends: the lock is lost a little before that, on the holder's own clock. The release of it does not ask Redis.", func(s *scene) {
		a1 := s.owner("A1", s.client("A"))
		a1.Lock().wait()
		s.server.fault(fault{refusal: loading})
		s.pass(9 * time.Second)
		s.sometime(25 * time.Second)
		s.server.heal()
		s.tell("Redis", "answers again")
		a1.Unlock().wait()
		s.sometime(10 * time.Second)
	}},
	{"lost-nested", "A1 holds the lock twice when it is lost. Each call that takes it says so, until A1 has unlocked as often as it had locked.", func(s *scene) {
		a1 := s.owner("A1", s.client("A"))
		a1.Lock().wait()
		a1.Lock().wait()
		s.tell("Redis", "loses the lock")
		s.redis("DEL", "job")
		s.pass(11 * time.Second)
		a1.Lock().wait()
		a1.Unlock().wait()
		a1.TryLock(0).wait()
		a1.Unlock().wait()
		a1.Lock().wait()
		a1.Unlock().wait()
	}},
	{"lost-found-by-reentry", "Redis has forgotten the lock when A1 enters it again: the nested call finds it, and is not granted a new hold.", func(s *scene) {
		a1 := s.owner("A1", s.client("A"))
		a1.Lock().wait()
		s.tell("Redis", "loses the lock")
		s.redis("DEL", "job")
		a1.Lock().wait()
		a1.Unlock().wait()
		a1.Unlock().wait()
	}},
}
