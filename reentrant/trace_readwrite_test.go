package reentrant_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// readWriteScenarios are about read-write locks. The name of an owner that reads is the owner's.
var readWriteScenarios = []scenario{
	{"rw-shared-lease", "A1 reads, and A2 joins its lease without a command. 20 ms later Redis' last word is old: A3 asks, and A4 joins. Only the last release is sent.", func(s *scene) {
		c := s.client("A")
		var all []*actor
		for _, name := range []string{"A1", "A2", "A3", "A4"} {
			all = append(all, s.side(name, c).read())
		}
		all[0].Lock().wait()
		all[1].Lock().wait()
		s.pass(20 * time.Millisecond)
		all[2].Lock().wait()
		all[3].Lock().wait()
		for _, a := range all {
			a.Unlock().wait()
		}
	}},
	{"rw-barrier", "A1 reads. B1 wants to write: it registers, which sets the barrier. A2 asks to join A1's lease, and is barred; it comes in after B1.", func(s *scene) {
		c := s.client("A")
		a1, a2, b1 := s.side("A1", c).read(), s.side("A2", c).read(), s.side("B1", s.client("B")).write()
		a1.Lock().wait()
		writes := b1.Lock()
		s.pass(200 * time.Millisecond)
		reads := a2.Lock()
		s.pass(200 * time.Millisecond)
		a1.Unlock().wait()
		writes.wait()
		s.pass(200 * time.Millisecond)
		b1.Unlock().wait()
		reads.wait()
		a2.Unlock().wait()
	}},
	{"rw-downgrade", "A1 writes, reads inside that, with a field of its own, and releases the write: the mode is read, and B1, who waits to read, is told.", func(s *scene) {
		a1, b1 := s.side("A1", s.client("A")), s.side("B1", s.client("B")).read()
		a1.write().Lock().wait()
		reads := b1.Lock()
		s.pass(200 * time.Millisecond)
		a1.read().Lock().wait()
		a1.write().Unlock().wait()
		reads.wait()
		a1.read().Unlock().wait()
		b1.Unlock().wait()
	}},
	{"rw-upgrade", "A1 reads and wants to write: refused, and nothing is sent.", func(s *scene) {
		a1 := s.side("A1", s.client("A"))
		a1.read().Lock().wait()
		a1.write().Lock().wait()
		a1.read().Unlock().wait()
	}},
	{"rw-forgotten", "A1 and A2 read with one lease, which B opens by force. A3, who asks to join, finds no field: A1 and A2 have lost the lock, and A3 gets it anew.", func(s *scene) {
		c := s.client("A")
		a1, a2, a3 := s.side("A1", c).read(), s.side("A2", c).read(), s.side("A3", c).read()
		a1.Lock().wait()
		a2.Lock().wait()
		s.pass(20 * time.Millisecond)
		s.side("B1", s.client("B")).read().ForceUnlock().wait()
		a3.Lock().wait()
		a1.Unlock().wait()
		a2.Unlock().wait()
		a3.Unlock().wait()
	}},
	{"rw-fixed-lease", "A1 reads with a fixed lease of 25 s, and a field of its own. Redisson's watchdog makes the lock's TTL shorter; the next guard puts it right.", func(s *scene) {
		a1 := s.side("A1", s.client("A")).read()
		a1.Acquire(reentrant.WithFixedLease(25 * time.Second)).wait()
		s.pass(time.Second)
		s.redis("PEXPIRE", "job", 15000)
		s.sometime(15 * time.Second)
		a1.Release().wait()
	}},
	{"rw-lost-reply", "The reply to A1's read is lost: it asks again, which voids what was sent before, and finds its field.", func(s *scene) {
		a1 := s.side("A1", s.client("A")).read()
		s.server.fault(fault{command: "readAcquire", times: 1, what: loseReply(s)})
		reads := a1.Lock()
		s.sometime(time.Second)
		reads.wait()
		a1.Unlock().wait()
	}},
}

// rwActor is an owner that takes either side of the lock job.
type rwActor struct {
	*actor
	rw *reentrant.ReadWriteLock
}

func (s *scene) side(name string, c *reentrant.Client) rwActor {
	return rwActor{s.owner(name, c), c.NewReadWriteLock("job")}
}

func (a rwActor) read() *actor {
	a.lock = a.rw.Read()
	return a.actor
}

func (a rwActor) write() *actor {
	a.lock = a.rw.Write()
	return a.actor
}

// rwOrdering is ordering for the scripts of a read-write lock.
func (c scriptCall) rwOrdering() (number, epoch int) {
	switch c.name {
	case "readAcquire", "writeAcquire":
		return 2, 3
	case "readCount", "rwLinger":
		return 3, 4
	case "rwRelease", "rwLeave":
		return 1, 2
	}
	return -1, -1
}

// rwString says what a script of a read-write lock is asked.
func (c scriptCall) rwString() string {
	a := c.argv
	s := c.name
	add := func(set bool, format string, args ...any) {
		if set {
			s += fmt.Sprintf(format, args...)
		}
	}
	switch c.name {
	case "readAcquire", "writeAcquire":
		add(true, " for %s, lease %v", a[0], ms(a[1]))
		add(len(a) > 10, ", joins")
		add(a[5] != "0", ", registers")
		add(a[6] == "-1", " if it is not registered")
		add(a[6] != "0" && a[6] != "-1", " with its first arrival")
		add(a[7] == "1", ", Redisson has released last")
	case "readCount":
		add(true, " %s of %s", a[1], a[0])
	case "rwRelease", "rwLeave":
		add(true, " of %s", a[0])
	case "readRenew":
		add(true, " %s, lease %v", strings.Join(a[1:], " "), ms(a[0]))
	}
	return s
}

// rwAnswer says what Redis has answered to such a script, if it says more than others do.
func (c scriptCall) rwAnswer(w *words, list []any) (text string, said bool) {
	code, _ := list[0].(int64)
	switch {
	case c.name == "readRenew":
		return strings.NewReplacer("[", "", "]", "", "-1", "refused", "1", "renewed", "0", "not held").Replace(fmt.Sprint(list)), true
	case c.name == "rwForce":
		return [...]string{"it was free", "ended"}[code], true
	case c.name == "rwLeave":
		return [...]string{"nothing to do", "passed on"}[code], true
	case c.name != "readAcquire" && c.name != "writeAcquire":
		return "", false
	case code == 1 && len(list) == 3:
		return fmt.Sprintf("joined, %v of Redisson wait", list[2]), true
	case code == 1:
		return "granted", true
	case code == -2:
		return "no field to join", true
	}
	holder := list[2].(string)
	if holder == "" {
		holder = "nobody, kept for a Client that was woken"
	}
	return fmt.Sprintf("busy, held by %s for %s, rank %v", w.plain(holder), short(time.Duration(list[1].(int64))*time.Millisecond), list[4]), true
}
