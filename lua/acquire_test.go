package lua_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/lua"
)

func TestAcquireFree(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		g := a.acquire(t, lua.Acquire{Owner: "1"})
		if g != (lua.Granted{Verdict: lua.Done}) {
			t.Fatalf("%+v", g)
		}
		r.wantHeld(t, "a:1", "1")
		r.wantTTL(t, name, lease)
		if n := r.rdb.DBSize(t.Context()).Val(); n != 1 {
			t.Fatalf("%d keys for a lock without waiters, fencing and doubt", n)
		}
	})
}

func TestAcquireBusy(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		a.acquire(t, lua.Acquire{Owner: "1"})
		r.unchanged(t, func() {
			g := b.acquire(t, lua.Acquire{Owner: "1", Lease: time.Hour})
			if g.Verdict != lua.Busy || g.Holder != "a:1" || g.Since != 0 || g.TTL > lease || g.TTL < lease-slack {
				t.Fatalf("%+v", g)
			}
			// Another owner of the same client gets the same answer.
			if g := a.acquire(t, lua.Acquire{Owner: "2"}); g.Verdict != lua.Busy || g.Holder != "a:1" {
				t.Fatalf("%+v", g)
			}
		})
	})
}

func TestAcquireBusyWithoutTTL(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		// As some operator may have left it.
		r.foreign(t, name, "HSET", name, "x", "1")
		g := r.client("a").acquire(t, lua.Acquire{Owner: "1"})
		if g.Verdict != lua.Busy || g.TTL != lua.NoTTL || g.Holder != "x" {
			t.Fatalf("%+v", g)
		}
		r.wantHeld(t, "x", "1")
	})
}

func TestAcquireTwice(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		first := lua.Acquire{Owner: "1", Order: a.next()}
		for range 2 { // the same bytes again
			wantVerdict(t, "acquire", a.acquire(t, first).Verdict, lua.Done)
			r.wantHeld(t, "a:1", "1")
		}
		r.unchanged(t, func() { // resent with a new number
			wantVerdict(t, "acquire", a.acquire(t, lua.Acquire{Owner: "1"}).Verdict, lua.Done)
		})
		wantVerdict(t, "acquire", a.acquire(t, lua.Acquire{Owner: "1", Order: a.marked()}).Verdict, lua.Done)
		r.wantHeld(t, "a:1", "1")
		r.wantTTL(t, a.keys.Epoch(), lease)
	})
}

// An acquire that sat in a socket while its caller gave up and freed the lock.
func TestAcquireLate(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		late := lua.Acquire{Owner: "1", Order: a.next(), Register: lease, Fencing: true}
		wantVerdict(t, "release", first(a.release(t, "1", a.marked())), lua.NotHeld)
		r.unchanged(t, func() {
			wantVerdict(t, "the late acquire", a.acquire(t, late).Verdict, lua.Stale)
		})
		r.wantFree(t)
		// The epoch is of one client; the numbers of others mean nothing to it.
		wantVerdict(t, "acquire of b", b.acquire(t, lua.Acquire{Owner: "1"}).Verdict, lua.Done)
		// Late while somebody holds the lock: it must not even register.
		r.unchanged(t, func() {
			wantVerdict(t, "the late acquire", a.acquire(t, late).Verdict, lua.Stale)
		})
	})
}

func TestEpochEnds(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		late := lua.Acquire{Owner: "1", Order: a.next()}
		order := a.marked()
		a.release(t, "1", order)
		if got := r.rdb.Get(t.Context(), a.keys.Epoch()).Val(); got != "2" {
			t.Fatalf("epoch %q", got)
		}
		r.wantTTL(t, a.keys.Epoch(), order.Epoch)
		// The command that has set the epoch is not stale itself when resent.
		wantVerdict(t, "release", first(a.release(t, "1", order)), lua.NotHeld)
		r.expire(t, a.keys.Epoch())
		wantVerdict(t, "acquire after the epoch", a.acquire(t, late).Verdict, lua.Done)
	})
}

// 2^53 - 1 is the last number that a Lua number tells from its neighbours.
func TestLargeNumbers(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		last := lua.Order{Number: 1<<53 - 1, Epoch: lease}
		wantVerdict(t, "acquire", a.acquire(t, lua.Acquire{Owner: "1", Order: last}).Verdict, lua.Done)
		before := lua.Order{Number: 1<<53 - 2}
		wantVerdict(t, "release", first(a.release(t, "1", before)), lua.Stale)
		wantVerdict(t, "release", first(a.release(t, "1", last)), lua.Done)
	})
}

func first[A, B any](a A, _ B) A { return a }
