package lua_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/redlatch/redlatch/lua"
)

func (c *client) report(t *testing.T, fencing bool) lua.Report {
	t.Helper()
	r, err := lua.ReadReport(t.Context(), c.p, &c.keys, c.wake, fencing)
	if err != nil {
		t.Fatalf("report: %v", err)
	}
	return r
}

func TestReport(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, c := r.client("a"), r.client("b"), r.client("c")
		if got := a.report(t, true); !reflect.DeepEqual(got, lua.Report{}) {
			t.Fatalf("a free lock: %+v", got)
		}
		granted := a.acquire(t, lua.Acquire{Owner: "1", Fencing: true})
		a.count(t, lua.Count{Owner: "1", Count: 3})
		now := time.Now()
		b.wait(t, now.Add(-time.Hour).UnixMicro())
		c.wait(t, now.Add(-time.Minute).UnixMicro())
		r.unchanged(t, func() {
			got := b.report(t, true)
			if len(got.Fields) != 1 || got.Fields[0] != (lua.Field{Owner: "a:1", Count: 3}) || got.TTL > lease || got.TTL < lease-slack {
				t.Fatalf("%+v", got)
			}
			if got.Token != granted.Token || got.RedissonWaiters != 0 {
				t.Fatalf("%+v, want token %d", got, granted.Token)
			}
			for i, want := range []lua.Waiting{{Client: "b", For: time.Hour}, {Client: "c", For: time.Minute}} {
				is := got.Waiting[i]
				if is.Client != want.Client || is.For < want.For-slack || is.For > want.For+slack {
					t.Errorf("%+v, want %+v", is, want)
				}
			}
			if got := b.report(t, false); got.Token != 0 {
				t.Errorf("token %d of a counter that was not looked at", got.Token)
			}
		})
	})
}

// Clients of Redisson are counted, and what else stands in the hash is read.
func TestReportOfRedissonWaiters(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		a.acquire(t, lua.Acquire{Owner: "1"})
		java := r.rdb.Subscribe(t.Context(), a.keys.Channel())
		defer java.Close()
		if _, err := java.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.rdb.HSet(t.Context(), name, "of no library", "1")
		got := a.report(t, true)
		if got.RedissonWaiters != 1 || len(got.Fields) != 2 {
			t.Fatalf("%+v", got)
		}
		a.wake = wakeUncounted
		if got := a.report(t, true); got.RedissonWaiters != -1 {
			t.Fatalf("%+v", got)
		}
		r.rdb.Persist(t.Context(), name)
		if got := a.report(t, true); got.TTL != lua.NoTTL {
			t.Fatalf("%+v", got)
		}
		r.rdb.PExpire(t.Context(), name, lease)
	})
}

// What stands beside the lock and is not ours costs only itself.
func TestReportBesideForeignKeys(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		a.acquire(t, lua.Acquire{Owner: "1"})
		r.foreign(t, a.keys.Waiters(), "SET", a.keys.Waiters(), "x")
		r.foreign(t, a.keys.Token(), "RPUSH", a.keys.Token(), "x")
		if got := a.report(t, true); len(got.Fields) != 1 || got.Token != 0 || len(got.Waiting) != 0 {
			t.Fatalf("%+v", got)
		}
	})
}
