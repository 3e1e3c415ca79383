package lua_test

import (
	"slices"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/redlatch/redlatch/internal/hashslot"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/lua"
)

func TestKeysOf(t *testing.T) {
	for key, want := range map[string][]string{
		"orders:42": {
			"orders:42",
			"redlatch_epoch:{orders:42}:id",
			"redlatch_turn:{orders:42}",
			"redlatch_waiters:{orders:42}",
			"redisson_lock_token:{orders:42}",
			"redisson_lock__channel:{orders:42}",
			"redlatch_listeners:{orders:42}",
			"redisson_lock__channel:{orders:42}:id",
			"redlatch_epoch:{orders:42}:grants",
			"redisson_lock_queue:{orders:42}",
			"redisson_lock_timeout:{orders:42}",
			"redlatch_epoch:{orders:42}:line",
		},
		"app:{orders}:42": { // has a hash tag: Redisson adds no braces
			"app:{orders}:42",
			"redlatch_epoch:app:{orders}:42:id",
			"redlatch_turn:app:{orders}:42",
			"redlatch_waiters:app:{orders}:42",
			"redisson_lock_token:app:{orders}:42",
			"redisson_lock__channel:app:{orders}:42",
			"redlatch_listeners:app:{orders}:42",
			"redisson_lock__channel:app:{orders}:42:id",
			"redlatch_epoch:app:{orders}:42:grants",
			"redisson_lock_queue:app:{orders}:42",
			"redisson_lock_timeout:app:{orders}:42",
			"redlatch_epoch:app:{orders}:42:line",
		},
	} {
		if got := all(lua.KeysOf(key, "id")); !slices.Equal(got, want) {
			t.Errorf("%q:\n\t%q\n\t%q", key, got, want)
		}
	}
}

// plain is text without braces and control characters, as a name may have.
func plain(least int) *rapid.Generator[string] {
	return rapid.StringOfN(rapid.Rune().Filter(func(r rune) bool {
		return r != '{' && r != '}' && !unicode.IsControl(r) && utf8.ValidRune(r)
	}), least, 20, -1)
}

func validName() *rapid.Generator[string] {
	tagged := rapid.Custom(func(t *rapid.T) string {
		return plain(0).Draw(t, "before") + "{" + plain(1).Draw(t, "tag") + "}" + plain(0).Draw(t, "after")
	})
	return rapid.OneOf(plain(1), tagged)
}

func all(k lua.Keys) []string {
	return []string{k.Lock, k.Epoch(), k.Turn(), k.Waiters(), k.Token(), k.Channel(), k.Listeners(), k.Own(), k.Grants(), k.Queue(), k.Timeouts(), k.Line()}
}

func TestKeysShareASlot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := validName().Draw(t, "name")
		all := all(lua.KeysOf(key, "0f8fad5b-d9cb-469f-a165-70867728950e"))
		seen := map[string]bool{}
		for _, k := range all {
			if hashslot.Of(k) != hashslot.Of(key) {
				t.Fatalf("%q is in slot %d, %q in %d", key, hashslot.Of(key), k, hashslot.Of(k))
			}
			seen[k] = true
		}
		if len(seen) != len(all) {
			t.Fatalf("two of one name: %q", all)
		}
	})
}

// The slots computed here are those that Redis computes.
func TestSlotIsRedis(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t, redistest.WithConfig("cluster-enabled yes")).Client(t)
	names := []string{"orders:42", "a{b}c", "{x}", "é{ü}"}
	for i := range 50 {
		names = append(names, validName().Example(i))
	}
	for _, n := range names {
		for _, k := range all(lua.KeysOf(n, "id")) {
			want, err := rdb.ClusterKeySlot(t.Context(), k).Result()
			if err != nil || int64(hashslot.Of(k)) != want {
				t.Fatalf("%q: %d, Redis says %d, %v", k, hashslot.Of(k), want, err)
			}
		}
	}
}
