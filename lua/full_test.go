package lua_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/lua"
)

// full has Redis refuse whatever needs memory.
func (r *rig) full(t *testing.T) {
	t.Helper()
	r.foreign(t, "filler", "SET", "filler", strings.Repeat("x", 2<<20))
	r.real.Do(t, "CONFIG", "SET", "maxmemory-policy", "noeviction")
	r.real.Do(t, "CONFIG", "SET", "maxmemory", "1mb")
}

func wantFull(t *testing.T, what string, err error) {
	t.Helper()
	if !hasCode(t, err, "OOM") || lua.Unknown(err) {
		t.Fatalf("%s: %v", what, err)
	}
}

func TestFullRefusesGrants(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		a.acquire(t, lua.Acquire{Owner: "1"})
		r.full(t)
		ctx := t.Context()
		r.unchanged(t, func() {
			for _, fencing := range []bool{false, true} {
				for _, epoch := range []time.Duration{0, lease} {
					order := a.next()
					order.Epoch = epoch
					_, err := lua.Transfer{From: "a:1", To: "a:2", Lease: lease, Order: order, Fencing: fencing}.Run(ctx, r.rdb, &a.keys)
					wantFull(t, "transfer", err)
				}
			}
			_, err := b.fill(lua.Acquire{Owner: "1", Register: lease}).Run(ctx, r.rdb, &b.keys)
			wantFull(t, "registration", err)
		})
		r.rdb.Del(ctx, name)
		for _, fencing := range []bool{false, true} {
			for _, order := range []lua.Order{b.next(), b.marked()} {
				_, err := b.fill(lua.Acquire{Owner: "1", Order: order, Fencing: fencing}).Run(ctx, r.rdb, &b.keys)
				wantFull(t, "acquire", err)
				r.wantFree(t)
			}
		}
	})
}

// A holder can always renew, count down and let go.
func TestFullLetsGo(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, r *rig) {
		a, b, c := r.client("a"), r.client("b"), r.client("c")
		r.queue(t, a, b, c)
		sub := listen(t, r, b.keys.Own(), c.keys.Own(), a.keys.Channel())
		r.full(t)
		if got := a.renew(t, "1", time.Hour); got != lua.Renewed {
			t.Fatalf("renew: %d", got)
		}
		r.wantTTL(t, name, time.Hour)
		v, set := a.release(t, "1", a.marked())
		if v != lua.Done || set {
			t.Fatalf("release: %d, epoch set: %v", v, set)
		}
		r.wantFree(t)
		sub.want(t, b.keys.Own(), "0")
		sub.want(t, a.keys.Channel(), "-0")
		b.leave(t)
		sub.want(t, c.keys.Own(), "0")
		sub.want(t, a.keys.Channel(), "-0")
	})
}

func TestFullForce(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		a.acquire(t, lua.Acquire{Owner: "1"})
		r.full(t)
		if !a.force(t) {
			t.Fatal("nothing freed")
		}
		r.wantFree(t)
	})
}
