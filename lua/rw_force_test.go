package lua_test

import (
	"testing"

	"github.com/redlatch/redlatch/lua"
)

// With a holder one hold ends: a reader's beside others, the last reader's, the writer's, or a read inside the write.
func TestRWForceHolder(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, c := r.rw("a"), r.rw("b"), r.rw("c")
		a.read(t, "1")
		b.read(t, "1")
		c.wait(t, c.writer("1"))
		sub := listen(t, r, c.keys.Own())
		r.unchanged(t, func() {
			for _, none := range []string{a.writer("1"), a.reader("2"), c.writer("1"), "mode"} {
				c.wantForced(t, none, false)
			}
		})
		c.wantForced(t, a.reader("1"), true)
		r.wantFields(t, map[string]string{"mode": "read", b.reader("1"): "1"})
		if r.exists(t, a.keys.Marker(a.reader("1"))) {
			t.Fatal("the marker is left")
		}
		sub.wantNothing(t, r)
		c.wantForced(t, b.reader("1"), true)
		sub.want(t, c.keys.Own(), "0")
		wantVerdict(t, "the writer", c.write(t, "1").Verdict, lua.Done)
		c.read(t, "1")
		c.wantForced(t, c.reader("1"), true)
		r.wantFields(t, map[string]string{"mode": "write", c.writer("1"): "1"})
		c.read(t, "1")
		c.wantForced(t, c.writer("1"), true)
		r.wantFields(t, map[string]string{"mode": "read", c.reader("1"): "1"})
		c.wantForced(t, c.reader("1"), true)
		r.wantFree(t)
	})
}

// Redisson has a marker for each hold of a reader.
func TestRWForceHolderOfRedisson(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.rw("a")
		ctx := t.Context()
		r.rdb.HSet(ctx, name, "mode", "read", thread, "2")
		r.rdb.PExpire(ctx, name, lease)
		for _, n := range []string{"1", "2"} {
			r.rdb.Set(ctx, "{"+name+"}:"+thread+":rwlock_timeout:"+n, 1, lease)
		}
		a.wantForced(t, thread, true)
		r.wantFree(t)
		if n := r.rdb.DBSize(ctx).Val(); n != 0 {
			t.Fatalf("%d keys are left", n)
		}
	})
}

func (c rwClient) wantForced(t *testing.T, holder string, want bool) {
	t.Helper()
	freed, err := lua.RWForce(t.Context(), c.p, &c.keys, c.wake, false, holder)
	if err != nil || freed != want {
		t.Fatalf("force %s: %v, %v", holder, freed, err)
	}
}
