package reentrant_test

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// leaseScenarios are about how long a hold lasts.
var leaseScenarios = []scenario{
	{"renewal", "A held lock is renewed at each third of its lease, until it is released.", func(s *scene) {
		a1 := s.owner("A1", s.client("A"))
		a1.Lock().wait()
		s.pass(25 * time.Second)
		a1.Unlock().wait()
		s.pass(20 * time.Second)
	}},
	{"renewal-fails", "Redis refuses a renewal once: it is tried again soon, and nothing is lost.", func(s *scene) {
		a1 := s.owner("A1", s.client("A"))
		a1.Lock().wait()
		s.server.fault(fault{command: "renew", times: 1, refusal: loading})
		s.pass(9 * time.Second)
		s.sometime(6 * time.Second)
		a1.Unlock().wait()
	}},
	{"fixed-lease", "A hold with a fixed lease of 2 s is not renewed. It is lost a little before its key is gone, and the release says so.", func(s *scene) {
		a1 := s.owner("A1", s.client("A"))
		a1.LockLease(2 * time.Second).wait()
		s.pass(3 * time.Second)
		a1.Unlock().wait()
		a1.Unlock().wait()
	}},
	{"max-hold", "With WithMaxHold of 15 s the hold is renewed until it is that old, and lost when the lease runs out after that.", func(s *scene) {
		a1 := s.owner("A1", s.client("A", reentrant.WithMaxHold(15*time.Second)))
		a1.Lock().wait()
		s.pass(time.Minute)
		a1.Unlock().wait()
	}},
	{"reentry-deadline", "Redis is silent when A1 enters its lock again, with 500 ms for that. The call ends at its deadline, and the outer hold goes on; the Client puts the count right.", func(s *scene) {
		a1 := s.owner("A1", s.client("A"))
		a1.Lock().wait()
		s.server.fault(fault{command: "count", times: 1, what: late(2 * time.Second)})
		ctx, cancel := context.WithTimeout(s.ctx, 500*time.Millisecond)
		defer cancel()
		a1.ctx = ctx
		a1.Lock().wait()
		s.sometime(5 * time.Second)
		a1.ctx = s.ctx
		a1.Unlock().wait()
	}},
	{"reentry-silent", "Redis is silent when A1 enters its lock again, and the lease of the outer hold ends meanwhile: the nested call is lost. It returns when go-redis gives up its command, after 5 s.", func(s *scene) {
		a1 := s.owner("A1", s.client("A", reentrant.WithLease(2*time.Second)))
		a1.LockLease(2 * time.Second).wait()
		s.pass(time.Second)
		s.server.fault(fault{command: "count", what: late(20 * time.Second)})
		a1.Lock().wait()
		a1.Unlock().wait()
		s.server.heal()
		s.sometime(30 * time.Second)
	}},
}
