package lua_test

import (
	"testing"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/lua"
)

// Somebody else's key has the name of the turn. A waiter is registered, or a client of
// Redisson waits: nothing may write over that key, and the lock is free all the same.
func TestMutantTurnIsForeign(t *testing.T) {
	for what, wait := range map[string]func(t *testing.T, r *rig, a *client){
		"registered": func(t *testing.T, r *rig, a *client) { r.queue(t, a, r.client("b")) },
		"Redisson": func(t *testing.T, r *rig, a *client) {
			r.queue(t, a)
			redissonWaiter(t, r)
		},
		"both": func(t *testing.T, r *rig, a *client) {
			r.queue(t, a, r.client("b"))
			redissonWaiter(t, r)
		},
	} {
		t.Run(what, func(t *testing.T) {
			onBoth(t, func(t *testing.T, r *rig) {
				a := r.client("a")
				wait(t, r, a)
				turn := a.keys.Turn()
				r.foreign(t, turn, "RPUSH", turn, "x", "y")
				before := r.snapshot(t)[turn]
				sub := listen(t, r, a.keys.Channel())
				wantVerdict(t, "release", first(a.release(t, "1", lua.Order{})), lua.Done)
				r.wantFree(t)
				sub.want(t, a.keys.Channel(), "-0")
				if after := r.snapshot(t)[turn]; after != before {
					t.Errorf("the key was %v, is %v", before, after)
				}
			})
		})
	}
}

// Nobody is registered, and a client of Redisson waits at a node that does not
// count sharded subscriptions. It subscribes plainly, and so the message goes by PUBLISH.
func TestMutantShardedRefusedToRedisson(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		if r.real != nil && redistest.AtLeast(t, "7.0") {
			a = r.as(t, "a", "~*", "&*", "+@all", "-pubsub|shardnumsub")
		}
		a.wake = wakeSharded
		a.acquire(t, lua.Acquire{Owner: "1"})
		sub := listen(t, r, a.keys.Channel())
		wantVerdict(t, "release", first(a.release(t, "1", lua.Order{})), lua.Done)
		if n := r.rdb.Publish(t.Context(), a.keys.Channel(), "end").Val(); n != 1 {
			t.Fatalf("%d listen", n)
		}
		sub.want(t, a.keys.Channel(), "-0")
		sub.want(t, a.keys.Channel(), "end")
	})
}

// Nobody is registered, and a client of Redisson waits with a sharded subscription, which PUBLISH does not reach.
func TestMutantShardedToRedisson(t *testing.T) {
	redistest.Needs(t, "7.0", "sharded pub/sub")
	onReal(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		a.wake = wakeSharded
		a.acquire(t, lua.Acquire{Owner: "1"})
		sub := listenSharded(t, r, a.keys.Channel())
		wantVerdict(t, "release", first(a.release(t, "1", lua.Order{})), lua.Done)
		sub.want(t, a.keys.Channel(), "-0")
	})
}
