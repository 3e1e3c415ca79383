package redlatchtest

import (
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/lua"
)

// Lose has Redis forget the lock of that name now, as at a failover; with the prefix, if the Client has one. Its
// holder is told at its next renewal: a third of the lease later at most, which takes no real time inside a bubble.
// Outside one, give the Client a short lease, such as WithLease(time.Second). The holder of a fixed lease is told by
// its release. If nobody holds the lock the test fails.
func (r *Redis) Lose(name string) {
	r.t.Helper()
	if !r.mini.Del(name) {
		r.t.Errorf("redlatchtest: lock %q is to be lost, and nobody holds it", name)
	}
}

// Expire has every lease in Redis end d earlier, as if the holders had been stopped for so long. A holder is told at
// its next renewal. Inside a bubble time.Sleep lets time pass for all.
func (r *Redis) Expire(d time.Duration) { r.mini.FastForward(d) }

// Refuse has Redis answer every command with that error until [Redis.Answer], for example "LOADING Redis is loading
// the dataset in memory". Connecting still works, and so does what is subscribed already.
func (r *Redis) Refuse(text string) {
	r.act(faultproxy.Rule{Match: notHandshake, Action: faultproxy.RefuseWith(text)})
}

// Silence has Redis say nothing, neither answers nor messages, until [Redis.Answer]. Connections stay open. Commands
// that are sent meanwhile are executed when it answers again, even if their callers have given up.
func (r *Redis) Silence() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answerLocked()
	r.proxy.Blackhole(true, true, faultproxy.Any)
}

// Slow has every command reach Redis d later, until [Redis.Answer].
func (r *Redis) Slow(d time.Duration) {
	r.act(faultproxy.Rule{Class: faultproxy.Command, Match: notHandshake, Action: faultproxy.Delay(d)})
}

// DelayGrants has the answers to calls that ask for a lock, and all messages, arrive d later, until [Redis.Answer].
// So the lock is taken in Redis at once, and the caller hears of it late: its ctx may have ended by then, and its
// lease has run for d.
func (r *Redis) DelayGrants(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answerLocked()
	r.rule = r.proxy.Add(faultproxy.Rule{Match: lua.AsksForLock, Action: faultproxy.DelayReply(d)})
	r.proxy.DelayMessages(d)
}

// DropReplies has Redis execute the next n scripts and close their connections without an answer: each command that
// takes, renews or releases a lock is a script. So the caller cannot know whether it ran. n is at least 1. [Redis.Answer] ends it.
func (r *Redis) DropReplies(n int) {
	r.t.Helper()
	if n <= 0 {
		r.t.Errorf("redlatchtest: %d replies are to be dropped", n)
		return
	}
	ctx, cancel := limited(r.t)
	defer cancel()
	// Redis would answer the first run of a script by NOSCRIPT. To drop that answer would drop no result.
	if err := lua.Load(ctx, r.direct); err != nil {
		r.t.Errorf("redlatchtest: loading scripts: %v", err)
	}
	r.act(faultproxy.Rule{Match: faultproxy.Named("EVALSHA"), Times: n, Action: faultproxy.DropAfter})
}

// Restart has Redis restart in no time: every connection is closed, and Clients connect anew. If keep is false, all
// locks are forgotten, as without persistence; the holders are told at their next renewal. A release that is sent
// before may return nil: its connection is closed, it is sent again, and it finds what a release leaves.
func (r *Redis) Restart(keep bool) {
	if !keep {
		r.mini.FlushAll()
	}
	r.proxy.CloseAll(faultproxy.Any)
}

// Answer ends what Refuse, Silence, Slow, DelayGrants and DropReplies have begun. A command that is being delayed
// stays so.
func (r *Redis) Answer() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answerLocked()
}

func (r *Redis) answerLocked() {
	if r.rule != nil {
		r.rule.Remove()
		r.rule = nil
	}
	r.proxy.DelayMessages(0)
	r.proxy.Heal()
}

// act puts a fault in force, in place of the one before.
func (r *Redis) act(rule faultproxy.Rule) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answerLocked()
	r.rule = r.proxy.Add(rule)
}

var handshake = faultproxy.Named("HELLO", "AUTH", "SELECT", "CLIENT")

// notHandshake leaves out what go-redis sends when it connects: a connection that cannot be set up is another fault.
func notHandshake(args []string) bool { return !handshake(args) }
