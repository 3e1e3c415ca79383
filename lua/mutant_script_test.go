package lua_test

import (
	"testing"

	"github.com/redlatch/redlatch/lua"
)

// A command that sets the epoch is resent: it is not stale by its own number.
func TestMutantResentWithItsOwnEpoch(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		order := a.marked()
		for range 2 {
			wantVerdict(t, "acquire", a.acquire(t, lua.Acquire{Owner: "1", Order: order}).Verdict, lua.Done)
		}
		order = a.marked()
		for range 2 {
			wantVerdict(t, "count", a.count(t, lua.Count{Owner: "1", Count: 2, Order: order}).Verdict, lua.Done)
		}
		order = a.marked()
		for range 2 {
			wantVerdict(t, "transfer", a.transfer(t, lua.Transfer{From: "1", To: "2", Order: order}).Verdict, lua.Done)
		}
		order = a.marked()
		for _, want := range []lua.Verdict{lua.Done, lua.NotHeld} {
			wantVerdict(t, "release", first(a.release(t, "2", order)), want)
		}
	})
}

// The lock is kept for a client of Redisson also if the first of the Go clients in line is
// dead, or if there is none.
func TestMutantYieldBesideTheDead(t *testing.T) {
	for what, waiters := range map[string][]string{"one is dead": {"dead", "b"}, "all are dead": {"dead"}, "nobody": nil} {
		t.Run(what, func(t *testing.T) {
			onBoth(t, func(t *testing.T, r *rig) {
				a, b := r.client("a"), r.client("b")
				var queue []*client
				for _, id := range waiters {
					queue = append(queue, r.client(id))
				}
				r.queue(t, a, queue...)
				listen(t, r, b.keys.Own())
				redissonWaiter(t, r)
				a.release(t, "1", lua.Order{})
				r.wantTTL(t, a.keys.Turn(), yields)
				if g := b.acquire(t, lua.Acquire{Owner: "1"}); g.Verdict != lua.Busy || !g.Yielded {
					t.Errorf("b: %+v", g)
				}
			})
		})
	}
}

// A client that is not known to be registered, and is not, comes last.
func TestMutantMaybeRegisteredComesLast(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, c := r.client("a"), r.client("b"), r.client("c")
		r.queue(t, a, b)
		g := c.acquire(t, lua.Acquire{Owner: "1", Register: lease, Since: lua.MaybeRegistered})
		if g.Verdict != lua.Busy || g.Rank != 1 || g.Since <= 0 {
			t.Errorf("%+v", g)
		}
	})
}

// If subscribers cannot be counted, no answer says that no client of Redisson waits. A client that
// has left the common channel first is not subtracted from the clients that wait.
func TestMutantRedissonWaitersAreCountedOrUnknown(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		a.acquire(t, lua.Acquire{Owner: "1"})
		ps := r.rdb.Subscribe(t.Context(), a.keys.Listeners())
		t.Cleanup(func() { ps.Close() })
		if _, err := ps.ReceiveTimeout(t.Context(), within); err != nil {
			t.Fatal(err)
		}
		if g := a.transfer(t, lua.Transfer{From: "1", To: "2"}); g.RedissonWaiters != 0 {
			t.Errorf("counted: %+v", g)
		}
		a.wake = wakeUncounted
		if g := a.transfer(t, lua.Transfer{From: "2", To: "1"}); g.RedissonWaiters != -1 {
			t.Errorf("uncounted: %+v", g)
		}
	})
}
