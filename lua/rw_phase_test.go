package lua_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/lua"
)

// The phase of readers ends soon after all clients that were told have come, and otherwise by its own time.
func TestPhaseEnds(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, c, d := r.rw("a"), r.rw("b"), r.rw("c"), r.rw("d")
		turn := func() string { return r.rdb.Get(t.Context(), a.keys.Turn()).Val() }
		a.write(t, "1")
		b.wait(t, b.reader("1"))
		c.wait(t, c.reader("1"))
		d.wait(t, d.writer("1"))
		listen(t, r, b.keys.Own(), c.keys.Own(), d.keys.Own())
		a.wantFreed(t, a.writer("1"))
		if got := turn(); got != "r:b:c" {
			t.Fatalf("the turn is %q", got)
		}
		wantVerdict(t, "the first", b.read(t, "1").Verdict, lua.Done)
		if got := turn(); got != "r:c" {
			t.Fatalf("the turn is %q", got)
		}
		r.wantTTL(t, a.keys.Turn(), pauses/5)
		wantVerdict(t, "one more of the first client", b.read(t, "2").Verdict, lua.Done)
		wantVerdict(t, "the last", c.read(t, "1").Verdict, lua.Done)
		if left := r.rdb.PTTL(t.Context(), a.keys.Turn()).Val(); left > 3*time.Millisecond {
			t.Fatalf("the turn is there for %v", left)
		}
		r.rdb.Del(t.Context(), a.keys.Turn()) // or it has expired
		wantVerdict(t, "after the phase", b.wait(t, b.reader("3")).Verdict, lua.Busy)
		for _, reader := range []struct {
			of  rwClient
			who string
		}{{b, "1"}, {b, "2"}, {c, "1"}} {
			reader.of.wantFreed(t, reader.of.reader(reader.who))
		}
		wantVerdict(t, "the writer", d.write(t, "1").Verdict, lua.Done)
	})
}

// A client that was told and leaves ends the phase only if it was the last to come.
func TestPhaseLeft(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, c, d := r.rw("a"), r.rw("b"), r.rw("c"), r.rw("d")
		a.write(t, "1")
		b.wait(t, b.reader("1"))
		c.wait(t, c.reader("1"))
		d.wait(t, d.writer("1"))
		sub := listen(t, r, b.keys.Own(), c.keys.Own(), d.keys.Own())
		a.wantFreed(t, a.writer("1"))
		sub.want(t, b.keys.Own(), "0")
		sub.want(t, c.keys.Own(), "0")
		b.leave(t)
		sub.wantNothing(t, r)
		wantVerdict(t, "the other reader may come", d.write(t, "1").Verdict, lua.Busy)
		c.leave(t)
		sub.want(t, d.keys.Own(), "0")
		wantVerdict(t, "the writer", d.write(t, "1").Verdict, lua.Done)
	})
}

// Who finds the free lock kept for another is registered, and told when that one has had it.
func TestKeptRegisters(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, c, d := r.rw("a"), r.rw("b"), r.rw("c"), r.rw("d")
		a.write(t, "1")
		b.wait(t, b.writer("1"))
		sub := listen(t, r, b.keys.Own(), c.keys.Own(), d.keys.Own())
		a.wantFreed(t, a.writer("1"))
		sub.want(t, b.keys.Own(), "0")
		if g := c.wait(t, c.writer("1")); g.Since == 0 || g.TTL > pauses {
			t.Fatalf("a writer: %+v", g)
		}
		if g := d.wait(t, d.reader("1")); g.Since == 0 || g.TTL > pauses {
			t.Fatalf("a reader: %+v", g)
		}
		wantVerdict(t, "its turn", b.write(t, "1").Verdict, lua.Done)
		b.wantFreed(t, b.writer("1"))
		sub.want(t, d.keys.Own(), "0")
		wantVerdict(t, "the reader", d.read(t, "1").Verdict, lua.Done)
		d.wantFreed(t, d.reader("1"))
		sub.want(t, c.keys.Own(), "0")
		wantVerdict(t, "the writer", c.write(t, "1").Verdict, lua.Done)
	})
}
