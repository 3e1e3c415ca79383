package reentrant_test

import (
	"context"
	"time"
)

// troubleScenarios are about commands whose outcome is unknown.
var troubleScenarios = []scenario{
	{"lost-reply-acquire", "The answer to A1's acquire is lost. It is sent again with a new number, and voids the first should that come later; it finds A1's own field, and grants.", func(s *scene) {
		a1 := s.owner("A1", s.client("A"))
		s.server.fault(fault{command: "acquire", times: 1, what: loseReply(s)})
		waiting := a1.Lock()
		s.sometime(time.Second)
		waiting.wait()
		a1.Unlock().wait()
	}},
	{"lost-reply-release", "The answer to A1's release is lost. It is sent again, and finds nothing: that is no loss.", func(s *scene) {
		a1 := s.owner("A1", s.client("A"))
		a1.Lock().wait()
		s.server.fault(fault{command: "release", times: 1, what: loseReply(s)})
		release := a1.Unlock()
		s.sometime(time.Second)
		release.wait()
		a1.Lock().wait()
		a1.Unlock().wait()
	}},
	{"lost-reply-count", "The answer to a nested call is lost, and it is sent again: it sets the count that is wanted, so twice is once.", func(s *scene) {
		a1 := s.owner("A1", s.client("A"))
		a1.Lock().wait()
		s.server.fault(fault{command: "count", times: 1, what: loseReply(s)})
		nested := a1.Lock()
		s.sometime(time.Second)
		nested.wait()
		a1.Unlock().wait()
		a1.Unlock().wait()
	}},
	{"lost-reply-transfer", "The answer to a hand-off is lost, and it is sent again: A2 has the lock once.", func(s *scene) {
		c := s.client("A")
		a1, a2 := s.owner("A1", c), s.owner("A2", c)
		a1.Lock().wait()
		waiting := a2.Lock()
		s.pass(200 * time.Millisecond)
		s.server.fault(fault{command: "transfer", times: 1, what: loseReply(s)})
		release := a1.Unlock()
		s.sometime(time.Second)
		release.wait()
		waiting.wait()
		a2.Unlock().wait()
	}},
	{"release-unconfirmed", "Redis refuses A1's release for as long as the call waits. The release is unconfirmed, and the Client frees the lock by itself when Redis answers again.", func(s *scene) {
		a1 := s.owner("A1", s.client("A"))
		a1.Lock().wait()
		s.server.fault(fault{refusal: loading})
		release := a1.Unlock()
		s.sometime(8 * time.Second)
		release.wait()
		s.server.heal()
		s.tell("Redis", "answers again")
		s.sometime(5 * time.Second)
	}},
	{"release-cancelled", "The ctx of A1's release has ended before the call: it waits for Redis all the same.", func(s *scene) {
		a1 := s.owner("A1", s.client("A"))
		a1.Lock().wait()
		ctx, cancel := context.WithCancel(s.ctx)
		cancel()
		a1.ctx = ctx
		a1.Unlock().wait()
	}},
	{"release-deadline", "A1's release has 100 ms, and Redis takes a second. The call returns at its deadline, the command goes on, and nothing is left behind.", func(s *scene) {
		a1 := s.owner("A1", s.client("A"))
		a1.Lock().wait()
		s.server.fault(fault{command: "release", times: 1, what: late(time.Second)})
		ctx, cancel := context.WithTimeout(s.ctx, 100*time.Millisecond)
		defer cancel()
		a1.ctx = ctx
		a1.Unlock().wait()
		s.sometime(3 * time.Second)
	}},
	{"inner-release-unconfirmed", "Redis does not answer the release of an inner hold in time: the outer hold goes on, and the Client puts the count right.", func(s *scene) {
		a1 := s.owner("A1", s.client("A"))
		a1.Lock().wait()
		a1.Lock().wait()
		s.server.fault(fault{command: "count", refusal: loading})
		ctx, cancel := context.WithTimeout(s.ctx, 500*time.Millisecond)
		defer cancel()
		a1.ctx = ctx
		release := a1.Unlock()
		s.sometime(time.Second)
		release.wait()
		s.server.heal()
		s.tell("Redis", "answers again")
		s.sometime(2 * time.Second)
		a1.ctx = s.ctx
		a1.Unlock().wait()
	}},
}
