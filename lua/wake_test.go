package lua_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/lua"
)

// queue has a hold the lock, and the others wait for it in this order.
func (r *rig) queue(t *testing.T, a *client, waiters ...*client) {
	t.Helper()
	a.acquire(t, lua.Acquire{Owner: "1"})
	base := time.Now().UnixMicro()
	for i, w := range waiters {
		w.wait(t, base+int64(i))
	}
}

func TestReleaseWakesTheFirst(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, c := r.client("a"), r.client("b"), r.client("c")
		r.queue(t, a, c, b) // not by name
		sub := listen(t, r, b.keys.Own(), c.keys.Own(), a.keys.Channel())
		order := a.next()
		a.release(t, "1", order)
		sub.want(t, c.keys.Own(), "0")
		sub.want(t, a.keys.Channel(), "-0") // and the common channel last
		sub.wantNothing(t, r)
		if got := r.waiters(t); !slices.Equal(got, []string{"b"}) {
			t.Fatalf("waiters %v", got)
		}
		r.unchanged(t, func() { // twice wakes nobody else
			a.release(t, "1", order)
			sub.wantNothing(t, r)
		})
	})
}

func TestReleaseWithoutWaiters(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		a.acquire(t, lua.Acquire{Owner: "1"})
		sub := listen(t, r, a.keys.Channel())
		a.release(t, "1", lua.Order{})
		sub.want(t, a.keys.Channel(), "-0") // for Java, which does not register
		sub.wantNothing(t, r)
		if r.exists(t, a.keys.Turn()) {
			t.Fatal("a turn of nobody")
		}
	})
}

// Waiters whose process has died have no subscriber: they cost nothing.
func TestReleaseSkipsTheDead(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, dead, b := r.client("a"), r.client("dead"), r.client("b")
		r.queue(t, a, dead, r.client("dead2"), b)
		sub := listen(t, r, b.keys.Own(), a.keys.Channel())
		a.release(t, "1", lua.Order{})
		sub.want(t, b.keys.Own(), "0")
		sub.want(t, a.keys.Channel(), "-0")
		if turn := r.rdb.Get(t.Context(), a.keys.Turn()).Val(); turn != "b" {
			t.Fatalf("the turn is %q's", turn)
		}
		if r.exists(t, a.keys.Waiters()) {
			t.Fatalf("waiters %v", r.waiters(t))
		}
	})
}

func TestReleaseToTheDeadOnly(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		r.queue(t, a, r.client("dead"), r.client("dead2"))
		a.release(t, "1", lua.Order{})
		if n := r.rdb.DBSize(t.Context()).Val(); n != 0 {
			t.Fatalf("%d keys are left", n)
		}
		wantVerdict(t, "acquire", b.acquire(t, lua.Acquire{Owner: "1"}).Verdict, lua.Done)
	})
}

// One release looks at 128 waiters at most. The common channel is told all the
// same, and the next release goes on from there.
func TestReleaseIsBounded(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		a.acquire(t, lua.Acquire{Owner: "1"})
		for i := range 128 {
			r.rdb.ZAdd(t.Context(), a.keys.Waiters(), redis.Z{Score: float64(i), Member: fmt.Sprint("dead", i)})
		}
		b.wait(t, 0)
		sub := listen(t, r, b.keys.Own(), a.keys.Channel())
		a.release(t, "1", lua.Order{})
		sub.want(t, a.keys.Channel(), "-0")
		if got := r.waiters(t); !slices.Equal(got, []string{"b"}) {
			t.Fatalf("waiters %v", got)
		}
		a.acquire(t, lua.Acquire{Owner: "1"}) // nobody has the turn
		a.release(t, "1", lua.Order{})
		sub.want(t, b.keys.Own(), "0")
	})
}

// In a cluster PUBLISH counts the receivers on one node, so that 0 says nothing:
// the first is woken unheard, and the pause is all that is lost if it is dead.
func TestReleaseUncounted(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, c := r.client("a"), r.client("b"), r.client("c")
		r.queue(t, a, b, c)
		sub := listen(t, r, c.keys.Own(), a.keys.Channel()) // b is elsewhere
		a.wake = wakeUncounted
		a.release(t, "1", lua.Order{})
		sub.want(t, a.keys.Channel(), "-0")
		if turn := r.rdb.Get(t.Context(), a.keys.Turn()).Val(); turn != "b" {
			t.Fatalf("the turn is %q's", turn)
		}
		if got := r.waiters(t); !slices.Equal(got, []string{"c"}) {
			t.Fatalf("waiters %v", got)
		}
	})
}

func TestReleaseShardedPublish(t *testing.T) {
	redistest.Needs(t, "7.0", "sharded pub/sub")
	t.Parallel()
	onReal(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		a.wake = wakeSharded
		r.queue(t, a, b)
		plain := listen(t, r, b.keys.Own(), a.keys.Channel())
		ps := r.rdb.SSubscribe(t.Context(), b.keys.Own(), a.keys.Channel())
		defer ps.Close()
		for range 2 {
			if _, err := ps.ReceiveTimeout(t.Context(), within); err != nil {
				t.Fatal(err)
			}
		}
		a.release(t, "1", lua.Order{})
		sharded := &subscription{ps: ps}
		sharded.want(t, b.keys.Own(), "0")
		sharded.want(t, a.keys.Channel(), "-0")
		plain.wantNothing(t, r)
	})
}
