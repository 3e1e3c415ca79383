package faulttests

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// besides are the keys that a lock has beside its hash, without the counter of tokens.
func besides(t *testing.T, s *redistest.Server, name string) (keys []string) {
	t.Helper()
	for _, key := range s.Do(t, "KEYS", "*{"+name+"}*").([]any) {
		keys = append(keys, key.(string))
	}
	slices.Sort(keys)
	return keys
}

// oneOf has a stand of a kind of which only one key beside the hash meets the fault. It returns nil when there are no more keys.
func oneOf(t *testing.T, s *redistest.Server, holder, waiter *reentrant.Client, k locktest.Kind, n int) (*stand, string) {
	t.Helper()
	name := fmt.Sprint(k.Name, " ", n)
	st := &stand{Kind: k, name: name, next: make(chan *reentrant.Hold, 1)}
	var err error
	st.hold, err = k.Acquire(asHolder(t), holder, name)
	must(t, err)
	st.hasWaiter(t, s, waiter)
	if keys := besides(t, s, name); n < len(keys) {
		return st, keys[n]
	}
	must(t, st.hold.Release(asHolder(t)))
	st.goesOn(t, 20*time.Second)
	return nil, ""
}

// Redis evicts one key of a lock, or somebody deletes it: the line of a fair lock, its scores, a registry, the barrier, a
// reader's marker. The hold stays, and who waits has the lock soon after its release.
func TestFault31KindsKeysForgotten(t *testing.T) {
	t.Parallel()
	noise, s := listenToNoise(t), redistest.Start(t)
	const lease = 3 * time.Second
	holder, waiter := faultClient(t, s.Client(t), reentrant.WithLease(lease)), faultClient(t, s.Client(t))
	var all []*stand
	for _, k := range locktest.OtherKinds {
		for n := 0; ; n++ {
			st, key := oneOf(t, s, holder, waiter, k, n)
			if st == nil {
				break
			}
			t.Log(key)
			s.Do(t, "DEL", key)
			all = append(all, st)
		}
	}
	before := holder.Stats().Renewals
	redistest.Eventually(t, 10*time.Second, "all are renewed", func() bool { return holder.Stats().Renewals >= before+uint64(len(all)) })
	released := time.Now()
	for _, st := range all {
		st.wantHeld(t, s)
		must(t, st.hold.Release(asHolder(t)))
	}
	for _, st := range all {
		st.goesOn(t, 20*time.Second)
		if d := time.Since(released); d > noise.allow(5*time.Second) { // not the TTL; a poll has its longest pause then
			t.Errorf("%s: a waiter took %v", st.name, d)
		}
	}
	wantTidy(t, s, all)
}

// Another program's value stands where one of a lock's keys is to be. Of the hash itself every call says so, and changes
// nothing. Of other keys the calls may fail; nobody spins, and all goes on when the key is gone.
func TestFault34KindsForeignKeys(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	holder, waiter := faultClient(t, s.Client(t), reentrant.WithLease(1500*time.Millisecond)), faultClient(t, s.Client(t))
	var all []*stand
	foreign := make(map[string]*stand)
	for _, k := range locktest.Renewed(locktest.OtherKinds...) {
		for n := 0; ; n++ {
			st, key := oneOf(t, s, holder, waiter, k, n)
			if st == nil {
				break
			}
			overwrite(t, s, key)
			foreign[key] = st
			all = append(all, st)
		}
	}
	for _, k := range locktest.Renewed(locktest.OtherKinds...) {
		wantForeign(t, s, k, holder)
	}
	if rate := rateOver(t, s, time.Second); rate > float64(20*len(all)) {
		t.Errorf("%.0f scripts a second about %d locks", rate, len(all))
	}
	for key, st := range foreign {
		if err := st.hold.Release(asHolder(t)); err != nil && !errors.Is(err, reentrant.ErrLost) && !errors.Is(err, reentrant.ErrUnconfirmed) {
			t.Errorf("%s: Release: %v", key, err)
		}
		s.Do(t, "DEL", key)
	}
	for _, st := range all {
		st.goesOn(t, 20*time.Second)
	}
	for _, st := range all { // as ever, which removes the scores of a line that was overwritten
		var err error
		st.hold, err = st.Acquire(asHolder(t), holder, st.name)
		must(t, err)
		st.hasWaiter(t, s, waiter)
		must(t, st.hold.Release(asHolder(t)))
		st.goesOn(t, 20*time.Second)
	}
	wantTidy(t, s, all)
}

// overwrite puts a value of another type at a key.
func overwrite(t *testing.T, s *redistest.Server, key string) {
	t.Helper()
	kind := s.Do(t, "TYPE", key).(string)
	s.Do(t, "DEL", key)
	if kind == "string" {
		s.Do(t, "RPUSH", key, "something else")
	} else {
		s.Do(t, "SET", key, "something else")
	}
	s.Do(t, "EXPIRE", key, 1000)
}

// wantForeign checks the calls about a lock whose hash is no hash.
func wantForeign(t *testing.T, s *redistest.Server, k locktest.Kind, c *reentrant.Client) {
	t.Helper()
	name, me := "foreign "+k.Name, asHolder(t)
	s.Do(t, "SET", name, "something else", "EX", 1000)
	before := bytesOf(t, s, name)
	l := k.Held(c, name)
	wants(t, l.Lock(me), reentrant.ErrForeignKey)
	_, err := l.TryLock(me, 0, time.Minute)
	wants(t, err, reentrant.ErrForeignKey)
	_, err = l.IsLocked(me)
	wants(t, err, reentrant.ErrForeignKey)
	_, err = l.ForceUnlock(me)
	wants(t, err, reentrant.ErrForeignKey)
	_, err = l.Info(me)
	wants(t, err, reentrant.ErrForeignKey)
	if after := bytesOf(t, s, name); after != before {
		t.Errorf("%s: the key was changed", k.Name)
	}
}

// A lock without a TTL, made by hand: waiters poll for it, and have it soon after it was deleted or forced.
func TestFault35KindsLockWithoutTTL(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := faultClient(t, s.Client(t))
	var all []*stand
	for _, k := range []locktest.Kind{locktest.Write, locktest.WriteBeforeReads, locktest.Read, locktest.Fair} {
		for _, how := range []string{"deleted", "forced"} {
			st := &stand{Kind: k, name: k.Name + " " + how, next: make(chan *reentrant.Hold, 1)}
			fields := map[string][]any{
				"write": {"mode", "write", "somebody:write", "1"}, "read": {"mode", "read", "somebody", "1"}, "fair": {"somebody", "1"},
			}[strings.TrimSuffix(k.Name, " before reads")]
			s.Do(t, append([]any{"HSET", st.name}, fields...)...)
			if ttl, err := k.Held(c, st.name).TTL(asHolder(t)); err != nil || ttl >= 0 {
				t.Errorf("%s: TTL of a lock without one is %v, %v", st.name, ttl, err)
			}
			st.hasWaiter(t, s, c)
			if ttl := s.Do(t, "PTTL", st.name).(int64); ttl != -1 {
				t.Errorf("%s: the lock of somebody else was given a TTL of %d ms", st.name, ttl)
			}
			all = append(all, st)
			if how == "deleted" {
				s.Do(t, "DEL", st.name)
			} else if freed, err := k.Held(c, st.name).ForceUnlock(asHolder(t)); !freed || err != nil {
				t.Errorf("%s: ForceUnlock: %v, %v", st.name, freed, err)
			}
		}
	}
	for _, st := range all {
		next := locktest.InTime(t, 20*time.Second, st.name+": the waiter has the lock", st.next)
		must(t, next.Release(locktest.AsWaiter(t)))
	}
	wantTidy(t, s, all)
}

// A permission that renewals need is withdrawn: holders are told by the end of their leases, nobody gets a lock, and all is
// well when the permission is back.
func TestFault33KindsPermissionWithdrawn(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	locktest.SetUser(t, s, "u", "~*", "&*", "+@all")
	holder := faultClient(t, s.Client(t, locktest.AsUser("u")), reentrant.WithLease(1500*time.Millisecond))
	waiter := faultClient(t, s.Client(t, locktest.AsUser("u")), reentrant.WithLease(1500*time.Millisecond))
	all := newStands(t, s, holder, waiter, locktest.Renewed(locktest.OtherKinds...))
	locktest.SetUser(t, s, "u", "-pexpire", "-evalsha")
	for _, st := range all {
		st.wantLost(t, 10*time.Second, reentrant.LeaseEnded)
		refusedByACL(t, st.Held(holder, "another").Lock(asHolder(t)))
	}
	locktest.SetUser(t, s, "u", "+pexpire", "+evalsha")
	for _, st := range all {
		st.goesOn(t, 20*time.Second)
	}
	wantTidy(t, s, all)
}

// Whatever command of the scripts a user may not run, no lock, no marker and no registry is left without a TTL; nor if the
// user may not run PEXPIRE and one more. The line of a fair lock has none: nobody is left in it.
func TestFault33KindsNoLockWithoutTTL(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := faultClient(t, s.Client(t, locktest.AsUser("u")))
	taken, refused := 0, 0
	for _, one := range []string{
		"exists", "del", "get", "set", "pttl", "time", "hget", "hset", "hdel", "hexists", "hkeys", "hmget", "zadd", "zrem", "zpopmin", "zcard",
		"zscore", "zrank", "zrange", "publish", "pubsub", "lindex", "linsert", "llen", "lpop", "lpush", "lrange", "lrem", "rpush",
	} {
		for _, missing := range [][]string{{"-" + one}, {"-pexpire", "-" + one}} {
			locktest.SetUser(t, s, "u", append([]string{"reset", "on", ">p", "~*", "&*", "+@all"}, missing...)...)
			for _, k := range locktest.OtherKinds {
				name := fmt.Sprint("l", taken+refused)
				for _, l := range []*reentrant.Lock{k.Held(c, name), k.Held(c, name), k.Rival(c, name)} {
					if ok, err := l.TryLock(asHolder(t), 0, time.Minute); ok {
						taken++
					} else if err != nil {
						refused++
					}
					wantTTLs(t, s, fmt.Sprint(missing, k.Name))
				}
				_, _ = k.Held(c, name).ForceUnlock(asHolder(t))
				wantTTLs(t, s, fmt.Sprint(missing, k.Name))
				s.Do(t, "FLUSHALL")
			}
		}
	}
	t.Logf("%d taken, %d refused", taken, refused)
	if taken == 0 || refused == 0 {
		t.Error("one of these did not happen")
	}
}

// wantTTLs checks that every key ends by itself, but the counters of tokens.
func wantTTLs(t *testing.T, s *redistest.Server, when string) {
	t.Helper()
	for _, key := range s.Do(t, "KEYS", "*").([]any) {
		if ttl := s.Do(t, "PTTL", key).(int64); ttl == -1 && !strings.HasPrefix(key.(string), "redisson_lock_token:") {
			t.Errorf("%s: %s has no TTL", when, key)
		}
	}
}

// Redis' clock jumps forward by a minute, and back by two: forward everything of a lock ends at once, and its holder is told by the next
// renewal; back nothing ends, and waiters do not sleep until the TTL.
func TestFault28KindsClock(t *testing.T) {
	t.Parallel()
	clock := redistest.NewClock(t)
	s := redistest.Start(t, redistest.WithClock(clock))
	holder, waiter := faultClient(t, s.Client(t), reentrant.WithLease(clockLease)), faultClient(t, s.Client(t), reentrant.WithLease(clockLease))
	all := newStands(t, s, holder, waiter, locktest.OtherKinds)
	clock.Set(2 * time.Minute)
	for _, st := range all {
		st.wantLost(t, 20*time.Second, reentrant.Overridden)
		st.goesOn(t, 20*time.Second)
	}
	wantTidy(t, s, all)

	all = newStands(t, s, holder, waiter, locktest.OtherKinds)
	clock.Set(0) // two minutes back
	before := holder.Stats().Renewals
	redistest.Eventually(t, 20*time.Second, "all are renewed", func() bool { return holder.Stats().Renewals >= before+uint64(len(all)) })
	for i, st := range all {
		st.wantHeld(t, s)
		if i%2 == 0 {
			s.Do(t, "DEL", st.name) // of which no message tells
			st.wantLost(t, 20*time.Second, reentrant.Overridden)
		} else {
			must(t, st.hold.Release(asHolder(t)))
		}
		st.goesOn(t, 20*time.Second)
	}
	wantTidy(t, s, all)
}
