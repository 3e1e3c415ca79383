package lua_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/redlatch/redlatch/lua"
)

// slack is how far a TTL may be off: what a busy machine needs between two
// commands. Leases that a test tells apart differ by more.
const slack = 5 * time.Second

func (r *rig) wantFields(t *testing.T, want map[string]string) {
	t.Helper()
	if got := r.rdb.HGetAll(t.Context(), name).Val(); !maps.Equal(got, want) {
		t.Fatalf("the lock is %v, want %v", got, want)
	}
}

// wantHeld compares the whole hash: owner holds it so often, and nobody else.
func (r *rig) wantHeld(t *testing.T, owner, count string) {
	t.Helper()
	r.wantFields(t, map[string]string{owner: count})
}

func (r *rig) wantFree(t *testing.T) {
	t.Helper()
	if r.rdb.Exists(t.Context(), name).Val() != 0 {
		t.Fatalf("the lock is %v, want it free", r.rdb.HGetAll(t.Context(), name).Val())
	}
}

func (r *rig) wantTTL(t *testing.T, key string, want time.Duration) {
	t.Helper()
	got := r.rdb.PTTL(t.Context(), key).Val()
	if got > want || got < want-slack {
		t.Fatalf("PTTL %s = %v, want %v", key, got, want)
	}
}

func (r *rig) exists(t *testing.T, key string) bool {
	t.Helper()
	return r.rdb.Exists(t.Context(), key).Val() == 1
}

func (r *rig) waiters(t *testing.T) []string {
	t.Helper()
	return r.rdb.ZRange(t.Context(), lua.KeysOf(name, "").Waiters(), 0, -1).Val()
}

func wantVerdict(t *testing.T, what string, got, want lua.Verdict) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: verdict %d, want %d", what, got, want)
	}
}

// entry is a key with all that it holds.
type entry struct {
	content string
	ttl     time.Duration
}

func (r *rig) snapshot(t *testing.T) map[string]entry {
	t.Helper()
	ctx := t.Context()
	all := map[string]entry{}
	for _, key := range r.rdb.Keys(ctx, "*").Val() {
		var v any
		kind := r.rdb.Type(ctx, key).Val()
		switch kind {
		case "string":
			v = r.rdb.Get(ctx, key).Val()
		case "hash":
			v = r.rdb.HGetAll(ctx, key).Val()
		case "zset":
			v = r.rdb.ZRangeWithScores(ctx, key, 0, -1).Val()
		case "list":
			v = r.rdb.LRange(ctx, key, 0, -1).Val()
		case "set":
			v = r.rdb.SMembers(ctx, key).Val()
		case "none": // it has expired since KEYS, as a turn does after 100 ms
			continue
		default:
			t.Fatalf("%q is a %s", key, kind)
		}
		if ttl := r.rdb.PTTL(ctx, key).Val(); ttl != -2 {
			all[key] = entry{fmt.Sprint(kind, " ", v), ttl}
		}
	}
	return all
}

// unchanged runs do and compares every key before and after. A TTL may have gone
// down as time went by, or be back where it was after the same grant.
func (r *rig) unchanged(t *testing.T, do func()) {
	t.Helper()
	began := time.Now()
	before := r.snapshot(t)
	do()
	after := r.snapshot(t)
	for key := range maps.Keys(after) {
		if _, ok := before[key]; !ok {
			t.Errorf("%q is new: %v", key, after[key])
		}
	}
	for key, b := range before {
		a, ok := after[key]
		switch {
		case !ok && b.ttl >= 0 && time.Since(began) >= b.ttl: // it has expired
		case !ok:
			t.Errorf("%q is gone, was %v", key, b)
		case a.content != b.content:
			t.Errorf("%q was %s, is %s", key, b.content, a.content)
		case (a.ttl < 0) != (b.ttl < 0), (a.ttl - b.ttl).Abs() > slack:
			t.Errorf("%q had a TTL of %v, has %v", key, b.ttl, a.ttl)
		}
	}
}
