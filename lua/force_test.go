package lua_test

import (
	"testing"

	"github.com/redlatch/redlatch/lua"
)

func TestForce(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		a.acquire(t, lua.Acquire{Owner: "1"})
		a.count(t, lua.Count{Owner: "1", Count: 3})
		if !b.force(t) {
			t.Fatal("a held lock: nothing freed")
		}
		r.wantFree(t)
		if b.force(t) {
			t.Fatal("twice: freed")
		}
		if n := r.rdb.DBSize(t.Context()).Val(); n != 0 {
			t.Fatalf("%d keys are left", n)
		}
	})
}

func TestForceWakes(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		a.acquire(t, lua.Acquire{Owner: "1"})
		b.wait(t, 0)
		sub := listen(t, r, b.keys.Own(), b.keys.Channel())
		a.force(t)
		sub.want(t, b.keys.Own(), "0")
		sub.want(t, b.keys.Channel(), "-0")
		r.unchanged(t, func() { // the second leaves the woken client its turn
			a.force(t)
			sub.wantNothing(t, r)
		})
		wantVerdict(t, "acquire", b.acquire(t, lua.Acquire{Owner: "1"}).Verdict, lua.Done)
	})
}

// With a holder nobody else loses the lock.
func TestForceHolder(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		a.acquire(t, lua.Acquire{Owner: "1"})
		b.wait(t, 0)
		sub := listen(t, r, b.keys.Own(), b.keys.Channel())
		r.unchanged(t, func() {
			if b.forceHolder(t, a.owner("2")) {
				t.Fatal("taken from an owner that does not hold it")
			}
		})
		sub.wantNothing(t, r)
		if !b.forceHolder(t, a.owner("1")) {
			t.Fatal("nothing freed")
		}
		sub.want(t, b.keys.Own(), "0")
		sub.want(t, b.keys.Channel(), "-0")
		wantVerdict(t, "acquire", b.acquire(t, lua.Acquire{Owner: "1"}).Verdict, lua.Done)
		r.unchanged(t, func() { // late: another owner has it by then
			if b.forceHolder(t, a.owner("1")) {
				t.Fatal("twice: freed")
			}
		})
		r.rdb.HSet(t.Context(), name, "another program's", "1")
		if !b.forceHolder(t, b.owner("1")) {
			t.Fatal("nothing freed")
		}
		r.wantFields(t, map[string]string{"another program's": "1"})
		sub.wantNothing(t, r)
	})
}

func (c *client) forceHolder(t *testing.T, holder string) bool {
	t.Helper()
	freed, err := lua.Force(t.Context(), c.p, &c.keys, c.wake, holder)
	if err != nil {
		t.Fatalf("force: %v", err)
	}
	return freed
}
