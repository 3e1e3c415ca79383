package lua_test

import (
	"testing"

	"github.com/redlatch/redlatch/lua"
)

func TestRelease(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		a.acquire(t, lua.Acquire{Owner: "1"})
		a.count(t, lua.Count{Owner: "1", Count: 3})
		order := a.next()
		v, set := a.release(t, "1", order) // whatever the count
		if v != lua.Done || set {
			t.Fatal(v, set)
		}
		r.wantFree(t)
		for _, again := range []lua.Order{order, a.next()} {
			wantVerdict(t, "again", first(a.release(t, "1", again)), lua.NotHeld)
		}
		if n := r.rdb.DBSize(t.Context()).Val(); n != 0 {
			t.Fatalf("%d keys are left", n)
		}
	})
}

func TestReleaseSetsEpoch(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		a.acquire(t, lua.Acquire{Owner: "1"})
		order := a.marked()
		for _, want := range []lua.Verdict{lua.Done, lua.NotHeld} {
			v, set := a.release(t, "1", order)
			if v != want || !set {
				t.Fatal(v, set)
			}
			r.wantTTL(t, a.keys.Epoch(), lease)
		}
	})
}

func TestReleaseOfAnother(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		a.acquire(t, lua.Acquire{Owner: "1"})
		r.unchanged(t, func() {
			wantVerdict(t, "b", first(b.release(t, "1", lua.Order{})), lua.NotHeld)
			wantVerdict(t, "another owner of a", first(a.release(t, "2", lua.Order{})), lua.NotHeld)
		})
	})
}

// A field beside the owner's is none of ours: it stays, and with it the lock.
func TestReleaseKeepsOtherFields(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		a.acquire(t, lua.Acquire{Owner: "1"})
		b.wait(t, 0)
		sub := listen(t, r, b.keys.Own(), b.keys.Channel())
		r.rdb.HSet(t.Context(), name, "mode", "x")
		wantVerdict(t, "release", first(a.release(t, "1", lua.Order{})), lua.Done)
		r.wantHeld(t, "mode", "x")
		sub.wantNothing(t, r) // it is not free
		if got := r.waiters(t); len(got) != 1 {
			t.Fatalf("waiters %v", got)
		}
	})
}

// The release whose reply was lost, and which comes when the same owner holds the
// lock for the second time.
func TestReleaseLate(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		a.acquire(t, lua.Acquire{Owner: "1"})
		late := a.next()
		a.release(t, "1", late)
		wantVerdict(t, "acquire", a.acquire(t, lua.Acquire{Owner: "1", Order: a.marked()}).Verdict, lua.Done)
		r.unchanged(t, func() {
			v, set := a.release(t, "1", late)
			if v != lua.Stale || set {
				t.Fatal(v, set)
			}
			late.Epoch = lease // nor does it move the epoch back
			wantVerdict(t, "the late release", first(a.release(t, "1", late)), lua.Stale)
		})
		r.wantHeld(t, "a:1", "1")
	})
}
