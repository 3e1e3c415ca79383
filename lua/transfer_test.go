package lua_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/lua"
)

func TestTransfer(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		a.acquire(t, lua.Acquire{Owner: "1", Lease: time.Hour})
		a.count(t, lua.Count{Owner: "1", Count: 3})
		first := lua.Transfer{From: "1", To: "2", Order: a.next()}
		if g := a.transfer(t, first); g != (lua.Granted{Verdict: lua.Done}) {
			t.Fatalf("%+v", g)
		}
		r.wantHeld(t, "a:2", "1") // once, whatever the other had
		r.wantTTL(t, name, lease) // the new owner's lease, shorter as it is
		r.unchanged(t, func() {
			wantVerdict(t, "the same again", a.transfer(t, first).Verdict, lua.Done)
			wantVerdict(t, "resent", a.transfer(t, lua.Transfer{From: "1", To: "2"}).Verdict, lua.Done)
		})
	})
}

// The second run answers as the first did also when the new holder has entered
// again by then, and takes nothing from it.
func TestTransferTwiceKeepsCount(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		a.acquire(t, lua.Acquire{Owner: "1"})
		order := a.next()
		a.transfer(t, lua.Transfer{From: "1", To: "2", Order: order})
		a.count(t, lua.Count{Owner: "2", Count: 2, Lease: time.Hour})
		r.unchanged(t, func() {
			wantVerdict(t, "again", a.transfer(t, lua.Transfer{From: "1", To: "2", Order: order}).Verdict, lua.Done)
		})
	})
}

func TestTransferNotHeld(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		wantVerdict(t, "a free lock", a.transfer(t, lua.Transfer{From: "1", To: "2"}).Verdict, lua.NotHeld)
		r.wantFree(t)
		b.acquire(t, lua.Acquire{Owner: "1"})
		r.unchanged(t, func() {
			wantVerdict(t, "b's lock", a.transfer(t, lua.Transfer{From: "1", To: "2", Fencing: true}).Verdict, lua.NotHeld)
		})
		g := a.transfer(t, lua.Transfer{From: "1", To: "2", Order: a.marked()})
		wantVerdict(t, "with an epoch", g.Verdict, lua.NotHeld)
		r.wantTTL(t, a.keys.Epoch(), lease)
		r.wantHeld(t, "b:1", "1")
	})
}

func TestTransferLate(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		a.acquire(t, lua.Acquire{Owner: "1"})
		late := lua.Transfer{From: "1", To: "2", Order: a.next(), Fencing: true}
		a.count(t, lua.Count{Owner: "1", Count: 2, Order: a.marked()})
		r.unchanged(t, func() {
			wantVerdict(t, "the late transfer", a.transfer(t, late).Verdict, lua.Stale)
		})
		r.wantHeld(t, "a:1", "2")
	})
}

func TestTransferCountsWaiters(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, c := r.client("a"), r.client("b"), r.client("c")
		a.acquire(t, lua.Acquire{Owner: "1"})
		b.wait(t, 0)
		c.wait(t, 0)
		cmd := lua.Transfer{From: "1", To: "2", Order: a.next()}
		for range 2 {
			if g := a.transfer(t, cmd); g.Verdict != lua.Done || g.Others != 2 {
				t.Fatalf("%+v", g)
			}
		}
	})
}
