package lua_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/lua"
)

// wait registers a client for the busy lock and returns its arrival.
func (c *client) wait(t *testing.T, since int64) int64 {
	t.Helper()
	g := c.acquire(t, lua.Acquire{Owner: "1", Register: lease, Since: since})
	if g.Verdict != lua.Busy || g.Since == 0 {
		t.Fatalf("%+v", g)
	}
	return g.Since
}

func TestRegister(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		a.acquire(t, lua.Acquire{Owner: "1"})
		since := b.wait(t, 0)
		// Microseconds of Redis' clock, which is this machine's.
		if off := time.Since(time.UnixMicro(since)).Abs(); off > within {
			t.Fatalf("arrived %v off", off)
		}
		score := r.rdb.ZScore(t.Context(), b.keys.Waiters(), "b").Val()
		if int64(score) != since {
			t.Fatalf("registered with %f, replied %d", score, since)
		}
		r.wantTTL(t, b.keys.Waiters(), lease)
		r.wantHeld(t, "a:1", "1")
	})
}

func TestRegisterTwiceKeepsPlace(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, c := r.client("a"), r.client("b"), r.client("c")
		a.acquire(t, lua.Acquire{Owner: "1"})
		since := b.wait(t, 0)
		c.wait(t, since+1) // behind, also if the clock has not moved
		r.unchanged(t, func() {
			b.wait(t, 0) // the reply was lost: it does not know its arrival
		})
		r.unchanged(t, func() {
			if got := b.wait(t, since); got != since {
				t.Fatalf("since %d became %d", since, got)
			}
		})
	})
}

// A client that was taken out, woken and beaten to the lock, waits again where
// it stood.
func TestRegisterAgainWithSince(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, c := r.client("a"), r.client("b"), r.client("c")
		a.acquire(t, lua.Acquire{Owner: "1"})
		since := b.wait(t, 0)
		c.wait(t, since+1)
		r.rdb.ZRem(t.Context(), b.keys.Waiters(), "b")
		b.wait(t, since)
		if got := r.waiters(t); !slices.Equal(got, []string{"b", "c"}) {
			t.Fatalf("waiters %v", got)
		}
	})
}

func TestGrantLeavesRegistry(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, c := r.client("a"), r.client("b"), r.client("c")
		a.acquire(t, lua.Acquire{Owner: "1"})
		since := b.wait(t, 0)
		c.wait(t, since+1)
		r.expire(t, name) // the holder died: nobody was woken
		wantVerdict(t, "acquire", b.acquire(t, lua.Acquire{Owner: "1", Since: since}).Verdict, lua.Done)
		if got := r.waiters(t); !slices.Equal(got, []string{"c"}) {
			t.Fatalf("waiters %v", got)
		}
	})
}

// Each registration prolongs the life of the registry, so that it outlives its
// last member by a bounded time only.
func TestRegistryTTL(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, c := r.client("a"), r.client("b"), r.client("c")
		a.acquire(t, lua.Acquire{Owner: "1"})
		b.wait(t, 0)
		c.acquire(t, lua.Acquire{Owner: "1", Register: time.Hour})
		r.wantTTL(t, a.keys.Waiters(), time.Hour)
	})
}

// A client that was not answered does not know whether it is registered. If it is it
// keeps its place, and at the grant it is taken out.
func TestMaybeRegistered(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		a.acquire(t, lua.Acquire{Owner: "1"})
		since := b.wait(t, 0)
		g := b.acquire(t, lua.Acquire{Owner: "1", Register: lease, Since: lua.MaybeRegistered})
		if g.Verdict != lua.Busy || g.Since != since {
			t.Fatalf("%+v, registered since %d", g, since)
		}
		a.release(t, "1", lua.Order{})
		r.rdb.ZAdd(t.Context(), b.keys.Waiters(), redis.Z{Score: 1, Member: "b"})
		wantVerdict(t, "b", b.acquire(t, lua.Acquire{Owner: "1", Since: lua.MaybeRegistered}).Verdict, lua.Done)
		if got := r.waiters(t); len(got) != 0 {
			t.Fatalf("waiters %v", got)
		}
	})
}
