package lua_test

import (
	"slices"
	"testing"

	"github.com/redlatch/redlatch/lua"
)

// woken has a release the lock to b, while c waits too.
func (r *rig) woken(t *testing.T) (a, b, c *client, sub *subscription) {
	t.Helper()
	a, b, c = r.client("a"), r.client("b"), r.client("c")
	r.queue(t, a, b, c)
	sub = listen(t, r, b.keys.Own(), c.keys.Own(), a.keys.Channel())
	a.release(t, "1", lua.Order{})
	sub.want(t, b.keys.Own(), "0")
	sub.want(t, a.keys.Channel(), "-0")
	return a, b, c, sub
}

func TestTurnKeepsNewcomersOut(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, c, _ := r.woken(t)
		if turn := r.rdb.Get(t.Context(), a.keys.Turn()).Val(); turn != "b" {
			t.Fatalf("the turn is %q's", turn)
		}
		r.wantTTL(t, a.keys.Turn(), pauses)
		for _, other := range []*client{a, c, r.client("d")} {
			g := other.acquire(t, lua.Acquire{Owner: "1"})
			if g.Verdict != lua.Busy || g.Holder != "" || g.TTL <= 0 || g.TTL > pauses {
				t.Fatalf("%s: %+v", other.id, g)
			}
		}
		r.wantFree(t)
		wantVerdict(t, "b", b.acquire(t, lua.Acquire{Owner: "1"}).Verdict, lua.Done)
		if r.exists(t, a.keys.Turn()) {
			t.Fatal("b holds the lock, and the turn is still there")
		}
	})
}

func TestTurnEnds(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, _, c, _ := r.woken(t)
		r.expire(t, a.keys.Turn()) // b never came
		wantVerdict(t, "c", c.acquire(t, lua.Acquire{Owner: "1"}).Verdict, lua.Done)
	})
}

// A newcomer that is refused because of a turn stands in line like any other.
func TestRegisterDuringTurn(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		_, _, _, _ = r.woken(t)
		r.client("d").wait(t, 0)
		if got := r.waiters(t); !slices.Equal(got, []string{"c", "d"}) {
			t.Fatalf("waiters %v", got)
		}
	})
}

// A turn says nothing to a holder: who has the lock may be granted it again.
func TestTurnBesideHolder(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		a.acquire(t, lua.Acquire{Owner: "1"})
		r.rdb.Set(t.Context(), a.keys.Turn(), "b", lease)
		r.unchanged(t, func() {
			wantVerdict(t, "resent", a.acquire(t, lua.Acquire{Owner: "1"}).Verdict, lua.Done)
		})
	})
}

// Redisson does not look at turns, and takes the free lock. The turn then ends no
// later than its pause, and a release hands it to the next.
func TestTurnOverrunByJava(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		_, b, c, sub := r.woken(t)
		r.rdb.HSet(t.Context(), name, "java:1", "1")
		r.rdb.PExpire(t.Context(), name, lease)
		if g := b.acquire(t, lua.Acquire{Owner: "1"}); g.Verdict != lua.Busy || g.Holder != "java:1" {
			t.Fatalf("%+v", g)
		}
		c.force(t)
		sub.want(t, c.keys.Own(), "0")
		wantVerdict(t, "c", c.acquire(t, lua.Acquire{Owner: "1"}).Verdict, lua.Done)
	})
}

func TestLeavePassesTheTurnOn(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, c, sub := r.woken(t)
		b.leave(t)
		sub.want(t, c.keys.Own(), "0")
		sub.want(t, a.keys.Channel(), "-0")
		if turn := r.rdb.Get(t.Context(), a.keys.Turn()).Val(); turn != "c" {
			t.Fatalf("the turn is %q's", turn)
		}
		r.unchanged(t, func() { // twice leaves c its turn
			b.leave(t)
			sub.wantNothing(t, r)
		})
		wantVerdict(t, "c", c.acquire(t, lua.Acquire{Owner: "1"}).Verdict, lua.Done)
	})
}

// The last to leave gives the free lock back to everybody.
func TestLeaveWithNobodyBehind(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		_, b, c, _ := r.woken(t)
		c.leave(t)
		b.leave(t)
		if n := r.rdb.DBSize(t.Context()).Val(); n != 0 {
			t.Fatalf("%d keys are left", n)
		}
	})
}

// A waiter that gives up while another has the turn, or while the lock is held,
// takes its place with it and wakes nobody.
func TestLeaveWithoutTurn(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, c, sub := r.woken(t)
		c.leave(t)
		sub.wantNothing(t, r)
		if turn := r.rdb.Get(t.Context(), a.keys.Turn()).Val(); turn != "b" {
			t.Fatalf("the turn is %q's", turn)
		}
		b.acquire(t, lua.Acquire{Owner: "1"})
		c.wait(t, 0)
		for range 2 {
			c.leave(t)
			sub.wantNothing(t, r)
		}
		r.wantHeld(t, "b:1", "1")
		if r.exists(t, a.keys.Waiters()) {
			t.Fatalf("waiters %v", r.waiters(t))
		}
	})
}

// The wake-up was sent, its turn has ended, and the woken client gives up: the
// next must not wait for its poll.
func TestLeaveAfterTurn(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, c, sub := r.woken(t)
		r.expire(t, a.keys.Turn())
		b.leave(t)
		sub.want(t, c.keys.Own(), "0")
	})
}
