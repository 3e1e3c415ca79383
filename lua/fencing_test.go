package lua_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/lua"
)

// take acquires with fencing and wants a token above the last one.
func (c *client) take(t *testing.T, last int64) int64 {
	t.Helper()
	g := c.acquire(t, lua.Acquire{Owner: "1", Fencing: true})
	if g.Verdict != lua.Done || g.Token <= last {
		t.Fatalf("%+v after token %d", g, last)
	}
	return g.Token
}

func TestTokensRise(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		var last int64
		for range 5 {
			last = a.take(t, last)
			if got := r.rdb.Get(t.Context(), a.keys.Token()).Val(); got != decimal(last) {
				t.Fatalf("the counter is %q, the token %d", got, last)
			}
			// A field that is there may be from a hold that was lost, whose token
			// somebody has: so a resent command gets a new one too.
			last = a.take(t, last)
			r.unchanged(t, func() {
				if g := b.acquire(t, lua.Acquire{Owner: "1", Fencing: true}); g.Verdict != lua.Busy {
					t.Fatalf("%+v", g)
				}
			})
			counter := r.rdb.Get(t.Context(), a.keys.Token()).Val()
			a.count(t, lua.Count{Owner: "1", Count: 2})
			if got := r.rdb.Get(t.Context(), a.keys.Token()).Val(); got != counter {
				t.Fatal("re-entry has raised the counter")
			}
			cmd := lua.Transfer{From: "1", To: "2", Fencing: true, Order: a.next()}
			g := a.transfer(t, cmd)
			if g.Token <= last {
				t.Fatalf("token %d after %d", g.Token, last)
			}
			last = g.Token
			if g = a.transfer(t, cmd); g.Token <= last {
				t.Fatalf("token %d after %d when the transfer was resent", g.Token, last)
			}
			last = g.Token
			a.release(t, "2", lua.Order{})
			a, b = b, a
		}
		if ttl := r.rdb.PTTL(t.Context(), a.keys.Token()).Val(); ttl != -1 {
			t.Fatalf("the counter ends in %v", ttl)
		}
	})
}

// Tokens follow Redis' clock, so they rise also when the counter is lost.
func TestTokensRiseWithoutCounter(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		var last int64
		for range 3 {
			last = a.take(t, last)
			a.release(t, "1", lua.Order{})
			r.rdb.Del(t.Context(), a.keys.Token())
		}
		if off := time.Since(time.UnixMicro(last)).Abs(); off > within {
			t.Fatalf("the token is %v off the clock", off)
		}
	})
}

// A counter ahead of the clock goes on from where it is: the clock was set back.
func TestTokensRiseAheadOfClock(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		ahead := time.Now().Add(24 * time.Hour).UnixMicro()
		r.rdb.Set(t.Context(), a.keys.Token(), ahead, 0)
		for i := range int64(3) {
			if got := a.take(t, 0); got != ahead+1+i {
				t.Fatalf("token %d, want %d", got, ahead+1+i)
			}
			a.release(t, "1", lua.Order{})
		}
	})
}

// Redisson raises the counter by INCR, also on re-entry.
func TestTokensRiseBesideRedisson(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		last := r.rdb.Incr(t.Context(), a.keys.Token()).Val()
		for range 3 {
			last = a.take(t, last)
			a.release(t, "1", lua.Order{})
			for range 2 {
				java := r.rdb.Incr(t.Context(), a.keys.Token())
				if java.Err() != nil || java.Val() <= last {
					t.Fatalf("INCR: %d after %d, %v", java.Val(), last, java.Err())
				}
				last = java.Val()
			}
		}
	})
}

// Tokens are exact up to 2^53, which the clock reaches in the year 2255. Only who
// sets the counter gets there before.
func TestTokensEnd(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		r.rdb.Set(t.Context(), a.keys.Token(), int64(1<<53-2), 0)
		for _, want := range []int64{1<<53 - 1, 1 << 53} {
			if got := a.take(t, 0); got != want {
				t.Fatalf("token %d, want %d", got, want)
			}
			a.release(t, "1", lua.Order{})
		}
	})
}

// A counter that is no number stops the grant before the lock is touched.
func TestTokenUnreadable(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		r.foreign(t, a.keys.Token(), "SET", a.keys.Token(), "x")
		r.unchanged(t, func() {
			g, err := a.fill(lua.Acquire{Owner: "1", Fencing: true}).Run(t.Context(), r.rdb, &a.keys)
			if err == nil || lua.Unknown(err) {
				t.Fatalf("%+v, %v", g, err)
			}
		})
	})
}

func TestNoFencingNoCounter(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		a.acquire(t, lua.Acquire{Owner: "1"})
		a.transfer(t, lua.Transfer{From: "1", To: "2"})
		if err := r.rdb.Get(t.Context(), a.keys.Token()).Err(); err != redis.Nil {
			t.Fatal(err)
		}
	})
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
