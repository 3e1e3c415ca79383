package lua_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch/lua"
)

func TestRenew(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		a.acquire(t, lua.Acquire{Owner: "1"})
		a.count(t, lua.Count{Owner: "1", Count: 2})
		for _, c := range []struct{ lease, want time.Duration }{
			{time.Hour, time.Hour}, {time.Hour, time.Hour}, // twice
			{time.Second, time.Hour}, // never shortened
		} {
			if got := a.renew(t, "1", c.lease); got != lua.Renewed {
				t.Fatal(got)
			}
			r.wantTTL(t, name, c.want)
		}
		r.wantHeld(t, "a:1", "2")
	})
}

func TestRenewGivesTTL(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		a.acquire(t, lua.Acquire{Owner: "1"})
		r.rdb.Persist(t.Context(), name)
		if got := a.renew(t, "1", lease); got != lua.Renewed {
			t.Fatal(got)
		}
		r.wantTTL(t, name, lease)
	})
}

// A renewal that comes late finds the lock free, or somebody else's.
func TestRenewLate(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		a.acquire(t, lua.Acquire{Owner: "1"})
		a.release(t, "1", lua.Order{})
		if got := a.renew(t, "1", lease); got != lua.NotOwner {
			t.Fatal(got)
		}
		r.wantFree(t)
		b.acquire(t, lua.Acquire{Owner: "1"})
		r.unchanged(t, func() {
			if got := a.renew(t, "1", time.Hour); got != lua.NotOwner {
				t.Fatal(got)
			}
		})
	})
}

// One script renews many locks; what one of them has become costs the others
// nothing.
func TestRenewBatch(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		a.acquire(t, lua.Acquire{Owner: "1"})
		r.foreign(t, "{x}string", "SET", "{x}string", "s")
		r.foreign(t, "{x}other", "HSET", "{x}other", "b:1", "1")
		r.foreign(t, "{x}mine", "HSET", "{x}mine", "a:1", "1")
		r.foreign(t, "{x}next", "HSET", "{x}next", "a:1", "1")
		before := r.snapshot(t)
		got, err := lua.Renew(t.Context(), r.rdb, []lua.FieldOwner{
			{Lock: "{x}string", Owner: "a:1", Next: "a:2"},
			{Lock: name, Owner: "a:1"},
			{Lock: "{x}none", Owner: "a:1", Next: "a:2"},
			{Lock: "{x}other", Owner: "a:1", Next: "a:2"},
			{Lock: "{x}mine", Owner: "a:1"},
			{Lock: "{x}next", Owner: "a:0", Next: "a:1"},
		}, time.Hour)
		want := []lua.Renewal{lua.NotOwner, lua.Renewed, lua.NotOwner, lua.NotOwner, lua.Renewed, lua.Renewed}
		if err != nil || !slices.Equal(got, want) {
			t.Fatal(got, err)
		}
		r.wantTTL(t, name, time.Hour)
		r.wantTTL(t, "{x}mine", time.Hour)
		r.wantTTL(t, "{x}next", time.Hour)
		after := r.snapshot(t)
		for _, key := range []string{"{x}string", "{x}other"} {
			if after[key] != before[key] {
				t.Errorf("%q was %v, is %v", key, before[key], after[key])
			}
		}
	})
}

func TestRenewMany(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		fields := make([]lua.FieldOwner, 10_000)
		for i := range fields {
			fields[i] = lua.FieldOwner{Lock: name, Owner: "nobody"}
		}
		got, err := lua.Renew(t.Context(), r.rdb, fields, time.Hour)
		if err != nil || len(got) != len(fields) || slices.ContainsFunc(got, func(r lua.Renewal) bool { return r != lua.NotOwner }) {
			t.Fatal(len(got), err)
		}
	})
}
