package reentrant_test

import (
	"context"
	"errors"
	"time"
)

// waitScenarios are about calls that do not get the lock.
var waitScenarios = []scenario{
	{"busy-same-client", "A1 holds the lock, and A2 of the same Client tries once: no command is needed to know that it is busy.", func(s *scene) {
		c := s.client("A")
		a1, a2 := s.owner("A1", c), s.owner("A2", c)
		a1.Lock().wait()
		a2.TryLock(0).wait()
		a1.Unlock().wait()
	}},
	{"busy-other-client", "A1 holds the lock, and B1 of another Client tries once: one command, and nothing is left behind.", func(s *scene) {
		a1, b1 := s.owner("A1", s.client("A")), s.owner("B1", s.client("B"))
		a1.Lock().wait()
		b1.TryLock(0).wait()
		s.pass(2 * time.Second)
		a1.Unlock().wait()
	}},
	{"wait-limited", "B1 waits for at most 500 ms. It asks, subscribes, asks again and registers; at the limit it leaves the registry, and keeps the subscription for a moment.", func(s *scene) {
		a1, b1 := s.owner("A1", s.client("A")), s.owner("B1", s.client("B"))
		a1.Lock().wait()
		b1.TryLock(500 * time.Millisecond).wait()
		s.pass(3 * time.Second)
	}},
	{"wait-deadline", "B1 waits until the deadline of its ctx: the error is busy, as another owner has the lock, and the deadline too.", func(s *scene) {
		a1, b1 := s.owner("A1", s.client("A")), s.owner("B1", s.client("B"))
		a1.Lock().wait()
		ctx, cancel := context.WithTimeout(s.ctx, 500*time.Millisecond)
		defer cancel()
		b1.ctx = ctx
		b1.Lock().wait()
		s.pass(100 * time.Millisecond)
	}},
	{"wait-cancelled", "B1 waits until its ctx is cancelled, with a cause: the error has both, and is not busy.", func(s *scene) {
		a1, b1 := s.owner("A1", s.client("A")), s.owner("B1", s.client("B"))
		a1.Lock().wait()
		ctx, cancel := context.WithCancelCause(s.ctx)
		b1.ctx = ctx
		waiting := b1.Lock()
		s.pass(300 * time.Millisecond)
		s.tell("B1", "has its ctx cancelled")
		cancel(errors.New("shift over"))
		waiting.wait()
		s.pass(100 * time.Millisecond)
	}},
	{"wait-cancelled-late-grant", "A1's ctx is cancelled while its command is under way, and Redis grants the lock after that. The Client gives it back by itself.", func(s *scene) {
		a1 := s.owner("A1", s.client("A"))
		s.server.fault(fault{command: "acquire", times: 1, what: late(2 * time.Second)})
		ctx, cancel := context.WithCancel(s.ctx)
		a1.ctx = ctx
		waiting := a1.Lock()
		s.pass(time.Second)
		s.tell("A1", "has its ctx cancelled")
		cancel()
		waiting.wait()
		s.pass(3 * time.Second)
	}},
	{"wait-behind-others", "A2 and A3 wait for A1 of their own Client: A2 asks nobody, and A3, behind it, gives up at its limit without a command.", func(s *scene) {
		c := s.client("A")
		a1, a2, a3 := s.owner("A1", c), s.owner("A2", c), s.owner("A3", c)
		a1.Lock().wait()
		waiting := a2.Lock()
		s.pass(10 * time.Millisecond)
		a3.TryLock(200 * time.Millisecond).wait()
		a1.Unlock().wait()
		waiting.wait()
		a2.Unlock().wait()
	}},
}
