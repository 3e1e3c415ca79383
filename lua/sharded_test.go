package lua_test

import (
	"testing"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/lua"
)

// shardedRedissonWaiter listens as a waiter of Redisson does in a cluster.
func shardedRedissonWaiter(t *testing.T, r *rig) {
	t.Helper()
	ps := r.rdb.SSubscribe(t.Context(), r.client("a").keys.Channel())
	t.Cleanup(func() { ps.Close() })
	if _, err := ps.ReceiveTimeout(t.Context(), within); err != nil {
		t.Fatal(err)
	}
}

// listenSharded is listen for a Go client in a cluster.
func listenSharded(t *testing.T, r *rig, channels ...string) *subscription {
	t.Helper()
	ps := r.rdb.SSubscribe(t.Context(), channels...)
	t.Cleanup(func() { ps.Close() })
	for range channels {
		if _, err := ps.ReceiveTimeout(t.Context(), within); err != nil {
			t.Fatal(err)
		}
	}
	return &subscription{ps: ps}
}

func TestShardedReleaseYieldsToRedisson(t *testing.T) {
	redistest.Needs(t, "7.0", "sharded pub/sub")
	t.Parallel()
	onReal(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		a.wake = wakeSharded
		r.queue(t, a, b)
		sub := listenSharded(t, r, b.keys.Own(), a.keys.Channel(), a.keys.Listeners())
		if g := a.transfer(t, lua.Transfer{From: "1", To: "2"}); g.RedissonWaiters != 0 {
			t.Fatalf("without Redisson: %+v", g)
		}
		redissonWaiter(t, r) // who listens plainly is not counted, nor would he hear anything
		shardedRedissonWaiter(t, r)
		if g := a.transfer(t, lua.Transfer{From: "2", To: "1"}); g.RedissonWaiters != 1 {
			t.Fatalf("beside Redisson: %+v", g)
		}
		a.release(t, "1", lua.Order{})
		sub.want(t, b.keys.Own(), "0")
		sub.want(t, a.keys.Channel(), "-0")
		r.wantTTL(t, a.keys.Turn(), yields)
	})
}

func TestShardedReleaseSkipsTheDead(t *testing.T) {
	redistest.Needs(t, "7.0", "sharded pub/sub")
	t.Parallel()
	onReal(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		a.wake = wakeSharded
		r.queue(t, a, r.client("dead"), b)
		sub := listenSharded(t, r, b.keys.Own())
		a.release(t, "1", lua.Order{})
		sub.want(t, b.keys.Own(), "0")
		if turn := r.rdb.Get(t.Context(), a.keys.Turn()).Val(); turn != "b" {
			t.Fatalf("the turn is %q's", turn)
		}
	})
}

// A server that refuses the question, being old or because of who asks, is one without
// sharded pub/sub, and in a cluster what is not sharded is not counted. miniredis does not know
// the question.
func TestShardedRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		if r.real != nil && redistest.AtLeast(t, "7.0") {
			a = r.as(t, "a", "~*", "&*", "+@all", "-pubsub|shardnumsub")
		}
		b, c := r.client("b"), r.client("c")
		a.wake = wakeSharded
		r.queue(t, a, b, c)
		sub := listen(t, r, c.keys.Own(), a.keys.Channel()) // b is elsewhere
		if g := a.transfer(t, lua.Transfer{From: "1", To: "2"}); g.Verdict != lua.Done || g.RedissonWaiters != -1 {
			t.Fatalf("%+v", g)
		}
		a.release(t, "2", lua.Order{})
		sub.want(t, a.keys.Channel(), "-0")
		if turn := r.rdb.Get(t.Context(), a.keys.Turn()).Val(); turn != "b" {
			t.Fatalf("the turn is %q's", turn)
		}
	})
}
