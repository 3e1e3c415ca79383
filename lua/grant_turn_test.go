package lua_test

import (
	"testing"

	"github.com/redlatch/redlatch/lua"
)

// A user who may not run TIME cannot tell how old a registration is. The release wakes the client.
func TestReleaseWithoutTime(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, r *rig) {
		u, b := r.as(t, "a", "~*", "&*", "+@all", "-time"), r.client("b")
		r.client("a").acquire(t, lua.Acquire{Owner: "1"})
		b.expect(t, "n-b")
		sub := listen(t, r, b.keys.Own(), b.keys.Channel())
		v, _, err := lua.Release{Owner: "a:1", Order: u.next(), Wake: u.wake}.Run(t.Context(), u.p, &u.keys)
		if err != nil || v != lua.Done {
			t.Errorf("release: %d, %v; the lock is %v, waiters %v", v, err, r.rdb.HGetAll(t.Context(), name).Val(), r.waiters(t))
		}
		r.wantWoken(t, sub, b)
	})
}

// Redisson overruns b's turn, and a forced unlock grants c the lock. That ends the turn: otherwise the lock that c
// frees, when nobody waits, would be kept for b.
func TestGrantLeavesNoTurn(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, c := r.client("a"), r.client("b"), r.client("c")
		r.queue(t, a, b)
		listen(t, r, b.keys.Own(), c.keys.Own())
		a.release(t, "1", lua.Order{}) // b has the turn
		r.rdb.HSet(t.Context(), name, "java:1", "1")
		r.rdb.PExpire(t.Context(), name, lease)
		c.expect(t, "n-c")
		a.force(t)
		r.wantHeld(t, "c:1", "1")
		b.leave(t)
		c.release(t, "1", lua.Order{})
		r.wantFree(t)
		wantVerdict(t, "a newcomer", a.acquire(t, lua.Acquire{Owner: "1"}).Verdict, lua.Done)
	})
}
