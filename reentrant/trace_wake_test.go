package reentrant_test

import (
	"time"
)

// wakeScenarios are about what ends a wait.
var wakeScenarios = []scenario{
	{"woken-by-release", "B1 waits for A1 of another Client. A1's release grants it the lock: B1 hears its nonce, and sends no command.", func(s *scene) {
		a1, b1 := s.owner("A1", s.client("A")), s.owner("B1", s.client("B"))
		a1.Lock().wait()
		waiting := b1.Lock()
		s.pass(300 * time.Millisecond)
		a1.Unlock().wait()
		waiting.wait()
		s.pass(100 * time.Millisecond)
		b1.Unlock().wait()
		s.pass(2 * time.Second)
	}},
	{"woken-in-turn", "B1 and C1 wait, B1 first. The release grants B1 the lock, and B1's release grants it to C1.", func(s *scene) {
		a1, b1, c1 := s.owner("A1", s.client("A")), s.owner("B1", s.client("B")), s.owner("C1", s.client("C"))
		a1.Lock().wait()
		first := b1.Lock()
		s.pass(50 * time.Millisecond)
		second := c1.Lock()
		s.pass(250 * time.Millisecond)
		a1.Unlock().wait()
		first.wait()
		s.pass(100 * time.Millisecond)
		b1.Unlock().wait()
		second.wait()
		c1.Unlock().wait()
	}},
	{"woken-newcomer", "The release grants B1 the lock: C1, a newcomer, finds it busy.", func(s *scene) {
		a1, b1, c1 := s.owner("A1", s.client("A")), s.owner("B1", s.client("B")), s.owner("C1", s.client("C"))
		a1.Lock().wait()
		waiting := b1.Lock()
		s.pass(300 * time.Millisecond)
		a1.Unlock().wait()
		c1.TryLock(0).wait()
		waiting.wait()
		b1.Unlock().wait()
	}},
	{"woken-by-lease-end", "The holder is dead: a field stays in Redis until its lease ends. B1 waits, and tries again just after that, without a message.", func(s *scene) {
		heldByTheDead(s, 700*time.Millisecond)
		b1 := s.owner("B1", s.client("B"))
		waiting := b1.Lock()
		s.pass(690 * time.Millisecond)
		s.sometime(20 * time.Millisecond)
		waiting.wait()
		b1.Unlock().wait()
	}},
	{"woken-by-redisson", "A client of Redisson holds the lock and releases it: a 0 on the common channel, to which the first waiter listens.", func(s *scene) {
		s.words.add(redissonClient+":7", "R7")
		s.tell("Redisson", "takes the lock")
		s.redis("HSET", "job", redissonClient+":7", 1)
		s.redis("PEXPIRE", "job", 30000)
		b1 := s.owner("B1", s.client("B"))
		waiting := b1.Lock()
		s.pass(300 * time.Millisecond)
		s.tell("Redisson", "releases the lock")
		s.redis("DEL", "job")
		s.redis("PUBLISH", "redisson_lock__channel:{job}", "0")
		waiting.wait()
		b1.Unlock().wait()
	}},
	{"redisson-waits", "A client of Redisson waits: it listens to the common channel, and is in no registry. The lock that is freed is kept for it for 10 ms, in which B1, which is woken too, does not get it. Redisson does not come.", func(s *scene) {
		sub := s.rdb[1].Subscribe(s.ctx, "redisson_lock__channel:{job}")
		defer sub.Close()
		_, err := sub.Receive(s.ctx)
		must(s.t, err)
		s.tell("Redisson", "waits: it listens to the common channel")
		a1, b1 := s.owner("A1", s.client("A")), s.owner("B1", s.client("B"))
		a1.Lock().wait()
		waiting := b1.Lock()
		s.pass(300 * time.Millisecond)
		a1.Unlock().wait()
		s.sometime(50 * time.Millisecond)
		waiting.wait()
		b1.Unlock().wait()
	}},
	{"waiter-in-an-outage", "Redis refuses all commands for 4 s while B1 waits for a process that is dead. B1 goes on, and has the lock when Redis answers again.", func(s *scene) {
		heldByTheDead(s, 3*time.Second)
		b1 := s.owner("B1", s.client("B"))
		waiting := b1.Lock()
		s.pass(300 * time.Millisecond)
		s.tell("Redis", "refuses from now on")
		s.server.fault(fault{refusal: loading})
		s.sometime(4 * time.Second)
		s.server.heal()
		s.tell("Redis", "answers again")
		s.sometime(time.Second)
		waiting.wait()
		b1.Unlock().wait()
	}},
	{"redis-refuses", "Redis refuses from the start, and A1 wants the lock: after 2 s and four attempts or more the call ends with Redis' own error.", func(s *scene) {
		s.server.fault(fault{refusal: loading})
		a1 := s.owner("A1", s.client("A"))
		waiting := a1.Lock()
		s.sometime(4 * time.Second)
		waiting.wait()
	}},
	{"subscription-lost", "The connection on which B listens breaks while B1 waits. B subscribes again, and B1 asks again then; the release grants it the lock as ever.", func(s *scene) {
		a1, b1 := s.owner("A1", s.client("A")), s.owner("B1", s.client("B"))
		a1.Lock().wait()
		waiting := b1.Lock()
		s.pass(300 * time.Millisecond)
		s.tell("Redis", "breaks B's subscription")
		s.conns["B"].cut()
		s.sometime(500 * time.Millisecond)
		a1.Unlock().wait()
		waiting.wait()
		b1.Unlock().wait()
	}},
}

const (
	deadClient     = "00000000-0000-8000-8000-00000000000d" // of Redlatch: UUIDs of version 8
	redissonClient = "00000000-0000-4000-8000-00000000000e" // of version 4
)

// heldByTheDead leaves the lock to a process that is gone, until its lease ends.
func heldByTheDead(s *scene, lease time.Duration) {
	s.tell("Redis", "has the lock, held by a process that is dead, for %v", lease)
	s.words.add(deadClient+":1", "D1")
	s.redis("HSET", "job", deadClient+":1", 1)
	s.redis("PEXPIRE", "job", lease.Milliseconds())
}
