package lua_test

import (
	"testing"

	"github.com/redlatch/redlatch/lua"
)

func TestInspect(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		if got := a.inspect(t, "1"); got != (lua.Inspection{}) {
			t.Fatalf("a free lock: %+v", got)
		}
		a.acquire(t, lua.Acquire{Owner: "1"})
		a.count(t, lua.Count{Owner: "1", Count: 3})
		r.unchanged(t, func() {
			for range 2 {
				got := a.inspect(t, "1")
				if !got.Held || got.Count != 3 || got.Holder != "a:1" || got.TTL > lease || got.TTL < lease-slack {
					t.Fatalf("by its holder: %+v", got)
				}
				got = b.inspect(t, "1")
				if !got.Held || got.Count != 0 || got.Holder != "a:1" || got.TTL <= 0 {
					t.Fatalf("by another: %+v", got)
				}
			}
		})
		r.rdb.Persist(t.Context(), name)
		if got := a.inspect(t, "1"); !got.Held || got.TTL != lua.NoTTL {
			t.Fatalf("without a TTL: %+v", got)
		}
		a.release(t, "1", lua.Order{})
		if got := a.inspect(t, "1"); got.Held {
			t.Fatalf("after the release: %+v", got)
		}
	})
}
