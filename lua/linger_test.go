package lua_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch/lua"
)

func (c *client) linger(t *testing.T, who string, d time.Duration, order lua.Order) (lua.Verdict, bool) {
	t.Helper()
	v, set, err := lua.Linger{Owner: c.owner(who), Nobody: c.owner("=nobody"), While: d, Order: c.order(order), Wake: c.wake}.
		Run(t.Context(), c.p, &c.keys)
	if err != nil {
		t.Fatalf("linger: %v", err)
	}
	return v, set
}

func TestLinger(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		a.acquire(t, lua.Acquire{Owner: "1", Lease: time.Hour})
		a.count(t, lua.Count{Owner: "1", Count: 3})
		order := a.next()
		v, set := a.linger(t, "1", lease, order)
		if v != lua.Done || set {
			t.Fatal(v, set)
		}
		r.wantHeld(t, "a:=nobody", "1") // once, whatever the other had
		r.wantTTL(t, name, lease)       // shorter than what was left
		r.unchanged(t, func() {
			for _, again := range []lua.Order{order, a.next()} {
				wantVerdict(t, "twice", first(a.linger(t, "1", time.Hour, again)), lua.Done)
			}
			wantVerdict(t, "the owner", a.acquire(t, lua.Acquire{Owner: "1"}).Verdict, lua.Busy)
			wantVerdict(t, "the owner's count", a.count(t, lua.Count{Owner: "1", Count: 2}).Verdict, lua.NotHeld)
			wantVerdict(t, "the owner's release", first(a.release(t, "1", lua.Order{})), lua.NotHeld)
			if got := a.renew(t, "1", time.Hour); got != lua.NotOwner {
				t.Fatalf("renewal: %v", got)
			}
		})
	})
}

// It lasts longer than the lease would have.
func TestLingerLonger(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		a.acquire(t, lua.Acquire{Owner: "1"})
		a.linger(t, "1", time.Hour, lua.Order{})
		r.wantTTL(t, name, time.Hour)
	})
}

func TestLingerNotHeld(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		wantVerdict(t, "a free lock", first(a.linger(t, "1", lease, lua.Order{})), lua.NotHeld)
		r.wantFree(t)
		b.acquire(t, lua.Acquire{Owner: "1"})
		r.unchanged(t, func() {
			wantVerdict(t, "b's lock", first(a.linger(t, "1", time.Hour, lua.Order{})), lua.NotHeld)
		})
		if v, set := a.linger(t, "1", lease, a.marked()); v != lua.NotHeld || !set {
			t.Fatal(v, set)
		}
		r.wantTTL(t, a.keys.Epoch(), lease)
		r.wantHeld(t, "b:1", "1")
	})
}

// The one whose reply was lost, and which comes when the same owner holds the lock anew.
func TestLingerLate(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		a.acquire(t, lua.Acquire{Owner: "1"})
		late := a.next()
		a.count(t, lua.Count{Owner: "1", Count: 2, Order: a.marked()})
		r.unchanged(t, func() {
			v, set := a.linger(t, "1", time.Hour, late)
			if v != lua.Stale || set {
				t.Fatal(v, set)
			}
		})
		r.wantHeld(t, "a:1", "2")
	})
}

// The script sends a message to all waiters, since no script wakes the next one when Redis frees the lock. They stay
// registered, and the lock is kept for none of them.
func TestLingerWakesAllWaiters(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, c := r.client("a"), r.client("b"), r.client("c")
		r.queue(t, a, c, b)
		sub := listen(t, r, b.keys.Own(), c.keys.Own(), a.keys.Channel())
		order := a.next()
		a.linger(t, "1", lease, order)
		sub.want(t, c.keys.Own(), "0")
		sub.want(t, b.keys.Own(), "0")
		sub.want(t, a.keys.Channel(), "0") // as Redisson does
		sub.wantNothing(t, r)
		if got := r.waiters(t); !slices.Equal(got, []string{"c", "b"}) {
			t.Fatalf("waiters %v", got)
		}
		if r.exists(t, a.keys.Turn()) {
			t.Fatal("a turn")
		}
		r.unchanged(t, func() { // the second run sends no message
			a.linger(t, "1", lease, order)
			sub.wantNothing(t, r)
		})
	})
}

// A full Redis refuses it, and the lock is the owner's as before.
func TestLingerFull(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		a.acquire(t, lua.Acquire{Owner: "1"})
		r.full(t)
		r.unchanged(t, func() {
			for _, order := range []lua.Order{a.next(), a.marked()} {
				_, _, err := lua.Linger{Owner: "a:1", Nobody: "a:=nobody", While: time.Hour, Order: order, Wake: a.wake}.Run(t.Context(), r.rdb, &a.keys)
				wantFull(t, "linger", err)
			}
		})
	})
}
