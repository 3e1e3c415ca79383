package reentrant_test

import (
	"strings"
	"time"
)

// grantScenarios are about locks that a release grants to the next Client.
var grantScenarios = []scenario{
	{"grant-renewed", "A1's release grants B1 the lock for 3 s. The first renewal comes after half of that, and raises the TTL to the lease.", func(s *scene) {
		a1, b1 := s.owner("A1", s.client("A")), s.owner("B1", s.client("B"))
		a1.Lock().wait()
		waiting := b1.Lock()
		s.pass(300 * time.Millisecond)
		a1.Unlock().wait()
		waiting.wait()
		s.sometime(4 * time.Second)
		b1.Unlock().wait()
	}},
	{"grant-unheard", "A release grants B1 the lock, and the message is lost. B1's poll finds its own field.", func(s *scene) {
		heldByTheDead(s, 20*time.Second)
		b1 := s.owner("B1", s.client("B"))
		waiting := b1.Lock()
		s.pass(300 * time.Millisecond)
		s.grantUnheard()
		s.sometime(2 * time.Second)
		waiting.wait()
		b1.Unlock().wait()
	}},
	{"grant-to-a-call-that-leaves", "A release grants B1 the lock as its wait ends, and the message comes too late. The Client leaves the registry, and takes the grant back.", func(s *scene) {
		heldByTheDead(s, 20*time.Second)
		waiting := s.owner("B1", s.client("B")).TryLock(500 * time.Millisecond)
		s.pass(300 * time.Millisecond)
		s.grantUnheard()
		waiting.wait()
		s.pass(100 * time.Millisecond)
	}},
	{"grant-for-the-next-call", "A release grants B1 the lock as its wait ends. B2 waits behind it: its attempt gets what was granted to B1.", func(s *scene) {
		heldByTheDead(s, 20*time.Second)
		b := s.client("B")
		b1, b2 := s.owner("B1", b), s.owner("B2", b)
		first := b1.TryLock(500 * time.Millisecond)
		s.pass(200 * time.Millisecond)
		second := b2.Lock()
		s.pass(100 * time.Millisecond)
		s.grantUnheard()
		first.wait()
		second.wait()
		b2.Unlock().wait()
	}},
	{"grant-forged", "Who may publish, and does not know the nonce, cannot grant B1 the lock: the message has B1 ask.", func(s *scene) {
		heldByTheDead(s, 20*time.Second)
		b := s.client("B")
		b1 := s.owner("B1", b)
		waiting := b1.TryLock(500 * time.Millisecond)
		s.pass(300 * time.Millisecond)
		s.redis("PUBLISH", "redisson_lock__channel:{job}:"+b.ID(), "forged")
		waiting.wait()
		s.pass(100 * time.Millisecond)
	}},
}

// grantUnheard is what a release does that grants the lock to the one Client that is registered, without the
// message.
func (s *scene) grantUnheard() {
	const key = "redlatch_epoch:{job}:grants"
	registered := s.rdb[1].HVals(s.ctx, key).Val()
	if len(registered) != 1 {
		s.t.Fatalf("%q are registered", registered)
	}
	owner := strings.SplitN(registered[0], " ", 5)[4]
	s.tell("Redis", "has granted it to %s, and the message is lost", s.words.plain(owner))
	s.redis("DEL", "job", key, "redlatch_waiters:{job}")
	s.redis("HSET", "job", owner, 1)
	s.redis("PEXPIRE", "job", 3000)
}
