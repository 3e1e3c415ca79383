package lua_test

import (
	"testing"

	"github.com/redlatch/redlatch/lua"
)

// redissonWaiter listens as a waiter of Redisson does: on the common channel only.
func redissonWaiter(t *testing.T, r *rig) {
	t.Helper()
	ps := r.rdb.Subscribe(t.Context(), r.client("a").keys.Channel())
	t.Cleanup(func() { ps.Close() })
	if _, err := ps.ReceiveTimeout(t.Context(), within); err != nil {
		t.Fatal(err)
	}
}

// A woken Go client would always be quicker than Redisson. So with both waiting the
// freed lock is kept from all Go clients, and the woken one comes again.
func TestReleaseYieldsToRedisson(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		r.queue(t, a, b)
		sub := listen(t, r, b.keys.Own(), a.keys.Channel())
		redissonWaiter(t, r)
		a.release(t, "1", lua.Order{})
		sub.want(t, b.keys.Own(), "0")
		sub.want(t, a.keys.Channel(), "-0")
		r.wantTTL(t, a.keys.Turn(), yields)
		for _, own := range []*client{a, b, r.client("d")} {
			if g := own.acquire(t, lua.Acquire{Owner: "1"}); g.Verdict != lua.Busy || g.Holder != "" || g.TTL > yields {
				t.Fatalf("%s: %+v", own.id, g)
			}
		}
		r.expire(t, a.keys.Turn()) // Redisson never came
		wantVerdict(t, "b", b.acquire(t, lua.Acquire{Owner: "1"}).Verdict, lua.Done)
	})
}

// Once Redisson has the lock it is not kept any longer, so that at its release
// all are equal.
func TestYieldEndsWhenRedissonHasTheLock(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		r.queue(t, a, b)
		listen(t, r, b.keys.Own(), a.keys.Channel())
		redissonWaiter(t, r)
		a.release(t, "1", lua.Order{})
		r.rdb.HSet(t.Context(), a.keys.Lock, "java:1", 1)
		r.rdb.PExpire(t.Context(), a.keys.Lock, lease)
		wantVerdict(t, "b", b.acquire(t, lua.Acquire{Owner: "1"}).Verdict, lua.Busy)
		if r.exists(t, a.keys.Turn()) {
			t.Fatal("the lock is still kept")
		}
	})
}

// Redisson's release may be heard before anybody of ours has seen that it had the
// lock: it has had its turn all the same.
func TestYieldEndsWithRedissonsRelease(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		r.queue(t, a, b)
		listen(t, r, b.keys.Own(), a.keys.Channel())
		redissonWaiter(t, r)
		a.release(t, "1", lua.Order{})
		wantVerdict(t, "b", b.acquire(t, lua.Acquire{Owner: "1"}).Verdict, lua.Busy)
		wantVerdict(t, "b", b.acquire(t, lua.Acquire{Owner: "1", AfterRedisson: true}).Verdict, lua.Done)
		if r.exists(t, a.keys.Turn()) {
			t.Fatal("the lock is still kept")
		}
	})
}

// Go clients alone are not Redisson's waiters, whether or not they wait just now.
func TestNoRedissonWaitersAmongGoClients(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, c := r.client("a"), r.client("b"), r.client("c")
		r.queue(t, a, b)
		listen(t, r, b.keys.Own(), a.keys.Channel())
		listen(t, r, c.keys.Own(), a.keys.Channel())
		if g := a.transfer(t, lua.Transfer{From: "1", To: "2"}); g.Verdict != lua.Done || g.RedissonWaiters != 0 || g.Others != 1 {
			t.Fatalf("transfer: %+v", g)
		}
		redissonWaiter(t, r)
		if g := a.transfer(t, lua.Transfer{From: "2", To: "3"}); g.Verdict != lua.Done || g.RedissonWaiters != 1 || g.Others != 1 {
			t.Fatalf("transfer beside Redisson: %+v", g)
		}
	})
}

// The woken client leaves while the lock is kept for Redisson's waiters: the next one must
// hear of it, or it would wait for its poll.
func TestLeaveDuringYield(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, c := r.client("a"), r.client("b"), r.client("c")
		r.queue(t, a, b, c)
		sub := listen(t, r, b.keys.Own(), c.keys.Own(), a.keys.Channel())
		redissonWaiter(t, r)
		a.release(t, "1", lua.Order{})
		sub.want(t, b.keys.Own(), "0")
		sub.want(t, a.keys.Channel(), "-0")
		b.leave(t)
		sub.want(t, c.keys.Own(), "0")
		sub.want(t, a.keys.Channel(), "-0")
	})
}
