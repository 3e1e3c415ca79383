package reentrant_test

import "time"

// endScenarios are about Close.
var endScenarios = []scenario{
	{"close-with-waiter", "B is closed while B1 waits: the call ends at once, and B leaves the registry.", func(s *scene) {
		b := s.client("B")
		a1, b1 := s.owner("A1", s.client("A")), s.owner("B1", b)
		a1.Lock().wait()
		waiting := b1.Lock()
		s.pass(300 * time.Millisecond)
		closing := s.closeClient("B", b, time.Second)
		waiting.wait()
		closing.wait()
		b1.Lock().wait()
		a1.Unlock().wait()
	}},
	{"close-with-hold", "A is closed while A1 holds the lock: Close waits for the release until its ctx ends, and A1 may enter the lock again meanwhile. Then the hold is over, and the lock ends with its lease.", func(s *scene) {
		c := s.client("A")
		a1, a2 := s.owner("A1", c), s.owner("A2", c)
		a1.Lock().wait()
		closing := s.closeClient("A", c, 2*time.Second)
		a1.Lock().wait()
		a2.Lock().wait()
		closing.wait()
		a1.Unlock().wait()
		s.pass(40 * time.Second)
	}},
	{"close-awaits-release", "A is closed while A1 holds the lock, and A1 releases it in time: Close returns with that.", func(s *scene) {
		c := s.client("A")
		a1 := s.owner("A1", c)
		a1.Lock().wait()
		closing := s.closeClient("A", c, 2*time.Second)
		s.pass(time.Second)
		a1.Unlock().wait()
		closing.wait()
	}},
}
