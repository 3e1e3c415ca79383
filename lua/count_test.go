package lua_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/lua"
)

func TestCount(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		a.acquire(t, lua.Acquire{Owner: "1"})
		order := a.next()
		for range 2 { // twice is once
			wantVerdict(t, "count", a.count(t, lua.Count{Owner: "1", Count: 2, Order: order}).Verdict, lua.Done)
			r.wantHeld(t, "a:1", "2")
		}
		wantVerdict(t, "count", a.count(t, lua.Count{Owner: "1", Count: 2}).Verdict, lua.Done)
		r.wantHeld(t, "a:1", "2")
		wantVerdict(t, "count", a.count(t, lua.Count{Owner: "1", Count: 1}).Verdict, lua.Done)
		r.wantHeld(t, "a:1", "1")
	})
}

func TestCountTTL(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		a.acquire(t, lua.Acquire{Owner: "1"})
		for _, c := range []struct{ lease, want time.Duration }{
			{0, lease},               // left alone
			{time.Second, lease},     // never shortened
			{time.Hour, time.Hour},   // raised
			{time.Minute, time.Hour}, // and not lowered again
		} {
			a.count(t, lua.Count{Owner: "1", Count: 2, Lease: c.lease})
			r.wantTTL(t, name, c.want)
		}
	})
}

func TestCountGivesTTL(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		a.acquire(t, lua.Acquire{Owner: "1"})
		r.rdb.Persist(t.Context(), name)
		a.count(t, lua.Count{Owner: "1", Count: 2}) // no lease: no TTL given, and none of 0
		if got := a.inspect(t, "1"); got.Count != 2 || got.TTL != lua.NoTTL {
			t.Fatalf("%+v", got)
		}
		a.count(t, lua.Count{Owner: "1", Count: 2, Lease: lease})
		r.wantTTL(t, name, lease)
	})
}

// A lock that was released is never made anew by a count.
func TestCountNotHeld(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		a.acquire(t, lua.Acquire{Owner: "1"})
		late := lua.Count{Owner: "1", Count: 7, Lease: time.Hour, Order: a.next()}
		a.release(t, "1", lua.Order{})
		wantVerdict(t, "count", a.count(t, late).Verdict, lua.NotHeld)
		r.wantFree(t)
		b.acquire(t, lua.Acquire{Owner: "1"})
		r.unchanged(t, func() {
			wantVerdict(t, "count", a.count(t, late).Verdict, lua.NotHeld)
		})
		wantVerdict(t, "count", a.count(t, lua.Count{Owner: "1", Count: 2, Order: a.marked()}).Verdict, lua.NotHeld)
		r.wantHeld(t, "b:1", "1")
		r.wantTTL(t, a.keys.Epoch(), lease) // the epoch counts also when nothing was held
	})
}

func TestCountLate(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		a.acquire(t, lua.Acquire{Owner: "1"})
		late := lua.Count{Owner: "1", Count: 7, Lease: time.Hour, Order: a.marked()}
		a.count(t, lua.Count{Owner: "1", Count: 1, Order: a.marked()})
		r.unchanged(t, func() {
			wantVerdict(t, "the late count", a.count(t, late).Verdict, lua.Stale)
		})
		r.wantHeld(t, "a:1", "1")
	})
}
