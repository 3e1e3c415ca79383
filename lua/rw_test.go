package lua_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch/lua"
)

// The fields are those that Redisson makes and reads, and no owner has another's.
func TestRWFields(t *testing.T) {
	for _, owner := range []string{"id:17", "id:=17", "id:job", "id:17:write", "id:==reader:17", "id:a:b"} {
		reader, writer := lua.ReaderField(owner), lua.WriterField(owner)
		if got, reads := lua.RWOwner(reader); got != owner || !reads {
			t.Errorf("%q is of %q, reads %v", reader, got, reads)
		}
		if got, reads := lua.RWOwner(writer); got != owner || reads {
			t.Errorf("%q is of %q, reads %v", writer, got, reads)
		}
	}
	k := lua.RWKeysOf("orders", "id")
	if got := k.Marker("id:17"); got != "{orders}:id:17:rwlock_timeout:1" {
		t.Errorf("marker %q", got)
	}
	tagged := lua.RWKeysOf("{test}:abc", "id")
	if got := tagged.Marker("id:17"); got != "{test}:abc:id:17:rwlock_timeout:1" {
		t.Errorf("marker %q", got)
	}
	if got := k.Channel(); got != "redisson_rwlock:{orders}" {
		t.Errorf("channel %q", got)
	}
}

func TestReadersShareAndWritersDoNot(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.rw("a"), r.rw("b")
		wantVerdict(t, "the first reader", a.read(t, "1").Verdict, lua.Done)
		r.wantFields(t, map[string]string{"mode": "read", a.reader("1"): "1"})
		r.wantTTL(t, name, lease)
		r.wantTTL(t, a.keys.Marker(a.reader("1")), lease)
		wantVerdict(t, "another client's reader", b.read(t, "1").Verdict, lua.Done)
		if g := b.write(t, "2"); g.Verdict != lua.Busy || g.Holder != a.reader("1") || g.TTL <= 0 {
			t.Fatalf("a writer beside readers: %+v", g)
		}
		a.wantFreed(t, a.reader("1"))
		wantVerdict(t, "a writer beside a reader", b.write(t, "2").Verdict, lua.Busy)
		b.wantFreed(t, b.reader("1"))
		r.wantFree(t)
		wantVerdict(t, "the writer", b.write(t, "2").Verdict, lua.Done)
		r.wantFields(t, map[string]string{"mode": "write", b.writer("2"): "1"})
		wantVerdict(t, "a reader beside the writer", a.read(t, "1").Verdict, lua.Busy)
		wantVerdict(t, "a second writer", a.write(t, "1").Verdict, lua.Busy)
		b.wantFreed(t, b.writer("2"))
		r.wantFree(t)
	})
}

// A writer reads inside its own hold, others do not; and the read goes on after the write.
func TestDowngrade(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.rw("a"), r.rw("b")
		a.write(t, "1")
		wantVerdict(t, "its own reader", a.read(t, "1").Verdict, lua.Done)
		wantVerdict(t, "another owner of the client", a.read(t, "2").Verdict, lua.Busy)
		b.wait(t, b.reader("1"))
		sub := listen(t, r, b.keys.Own(), b.keys.Channel())
		a.wantFreed(t, a.writer("1"))
		r.wantFields(t, map[string]string{"mode": "read", a.reader("1"): "1"})
		sub.want(t, b.keys.Own(), "0") // Redisson tells nobody
		sub.want(t, b.keys.Channel(), "01")
		sub.want(t, b.keys.Channel(), "-0")
		wantVerdict(t, "another reader", b.read(t, "1").Verdict, lua.Done)
		wantVerdict(t, "the writer again", a.write(t, "1").Verdict, lua.Busy)
		a.wantFreed(t, a.reader("1"))
		b.wantFreed(t, b.reader("1"))
		r.wantFree(t)
	})
}

// The read that ends first inside a write hold leaves the write hold as it is.
func TestReadInsideWriteEndsFirst(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.rw("a")
		a.write(t, "1")
		a.read(t, "1")
		a.wantFreed(t, a.reader("1"))
		r.wantFields(t, map[string]string{"mode": "write", a.writer("1"): "1"})
		a.wantFreed(t, a.writer("1"))
		r.wantFree(t)
	})
}

// Sent twice, a command does what it did once.
func TestRWTwice(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.rw("a"), r.rw("b")
		b.read(t, "9")
		for _, field := range []string{a.reader("1"), a.reader("1")} {
			wantVerdict(t, "read", a.take(t, field, lua.RWAcquire{}).Verdict, lua.Done)
		}
		r.unchanged(t, func() { a.read(t, "1") })
		count := lua.RWCount{Owner: a.reader("1"), Count: 2, Lease: lease, Order: a.next()}
		for range 2 {
			if g, err := count.Run(t.Context(), a.p, &a.keys); err != nil || g.Verdict != lua.Done {
				t.Fatalf("count: %+v, %v", g, err)
			}
		}
		r.wantFields(t, map[string]string{"mode": "read", a.reader("1"): "2", b.reader("9"): "1"})
		order := a.next()
		v, _ := a.free(t, a.reader("1"), order)
		wantVerdict(t, "release", v, lua.Done)
		r.unchanged(t, func() {
			v, _ := a.free(t, a.reader("1"), order)
			wantVerdict(t, "again", v, lua.NotHeld)
		})
		b.wantFreed(t, b.reader("9"))
		a.write(t, "1")
		r.unchanged(t, func() { wantVerdict(t, "write again", a.write(t, "1").Verdict, lua.Done) })
		a.wantFreed(t, a.writer("1"))
		r.unchanged(t, func() {
			v, _ := a.free(t, a.writer("1"), lua.Order{})
			wantVerdict(t, "again", v, lua.NotHeld)
		})
	})
}

// A command that comes after a later one has set the epoch changes nothing.
func TestRWLate(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.rw("a")
		late := a.next()
		wantVerdict(t, "read", a.take(t, a.reader("1"), lua.RWAcquire{Order: a.marked()}).Verdict, lua.Done)
		r.unchanged(t, func() {
			wantVerdict(t, "read", a.take(t, a.reader("2"), lua.RWAcquire{Order: late}).Verdict, lua.Stale)
			wantVerdict(t, "write", a.take(t, a.writer("2"), lua.RWAcquire{Order: late}).Verdict, lua.Stale)
			v, _ := a.free(t, a.reader("1"), late)
			wantVerdict(t, "release", v, lua.Stale)
			g, err := lua.RWCount{Owner: a.reader("1"), Count: 7, Order: late}.Run(t.Context(), a.p, &a.keys)
			if err != nil || g.Verdict != lua.Stale {
				t.Fatalf("count: %+v, %v", g, err)
			}
			v, err = lua.RWLeave{Client: a.id, Order: late, Wake: a.wake}.Run(t.Context(), a.p, &a.keys)
			if err != nil || v != lua.Stale {
				t.Fatalf("leave: %v, %v", v, err)
			}
			v, _, err = lua.RWLinger{Owner: a.reader("1"), Nobody: a.owner("=released:1"), While: lease, Order: late, Wake: a.wake}.Run(t.Context(), a.p, &a.keys)
			if err != nil || v != lua.Stale {
				t.Fatalf("linger: %v, %v", v, err)
			}
		})
	})
}

// A writer that waits bars further readers; after a write the readers that wait come before the next writer.
func TestPhases(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, c := r.rw("a"), r.rw("b"), r.rw("c")
		a.read(t, "1")
		b.wait(t, b.writer("1"))
		if g := c.wait(t, c.reader("1")); g.Holder != a.reader("1") || g.TTL > 3*time.Second {
			t.Fatalf("a reader behind a writer that waits: %+v", g)
		}
		first := lua.RWAcquire{ReadersFirst: true}
		wantVerdict(t, "a reader that comes first", c.take(t, c.reader("2"), first).Verdict, lua.Done)
		c.wantFreed(t, c.reader("2"))
		c.wait(t, c.reader("1")) // the grant has taken the client out of the registry

		sub := listen(t, r, b.keys.Own(), c.keys.Own())
		a.wantFreed(t, a.reader("1"))
		sub.want(t, b.keys.Own(), "0")
		wantVerdict(t, "the lock is kept for the writer", c.read(t, "1").Verdict, lua.Busy)
		wantVerdict(t, "the writer", b.write(t, "1").Verdict, lua.Done)
		if r.exists(t, b.keys.Barrier()) {
			t.Fatal("the barrier stands after the writer has entered")
		}
		a.wait(t, a.writer("1"))
		b.wantFreed(t, b.writer("1"))
		sub.want(t, c.keys.Own(), "0") // and not to a, which waits to write
		wantVerdict(t, "no writer in the phase", a.write(t, "1").Verdict, lua.Busy)
		wantVerdict(t, "the reader", c.read(t, "1").Verdict, lua.Done)
		if !r.exists(t, b.keys.Barrier()) {
			t.Fatal("no barrier after the phase, though a writer waits")
		}
	})
}

// Without a writer that waits the readers have no barrier, and a writer that leaves takes its own away.
func TestWriterLeaves(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, c, d := r.rw("a"), r.rw("b"), r.rw("c"), r.rw("d")
		a.read(t, "1")
		b.wait(t, b.writer("1"))
		d.wait(t, d.writer("1"))
		c.wait(t, c.reader("1"))
		sub := listen(t, r, c.keys.Own())
		b.leave(t)
		wantVerdict(t, "the other writer still waits", c.read(t, "1").Verdict, lua.Busy)
		c.wait(t, c.reader("1"))
		d.leave(t)
		sub.want(t, c.keys.Own(), "0")
		wantVerdict(t, "the reader", c.read(t, "1").Verdict, lua.Done)
		r.unchanged(t, func() { d.leave(t) })
	})
}

// A writer that was woken and leaves has the next one woken.
func TestWokenWriterLeaves(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, c := r.rw("a"), r.rw("b"), r.rw("c")
		a.write(t, "1")
		b.wait(t, b.writer("1"))
		c.wait(t, c.writer("1"))
		sub := listen(t, r, b.keys.Own(), c.keys.Own())
		a.wantFreed(t, a.writer("1"))
		sub.want(t, b.keys.Own(), "0")
		b.leave(t)
		sub.want(t, c.keys.Own(), "0")
		wantVerdict(t, "the next writer", c.write(t, "1").Verdict, lua.Done)
	})
}

// A reader lives as long as its marker. The last one that lives frees the lock of those that have died.
func TestDeadReaders(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.rw("a"), r.rw("b")
		a.read(t, "1")
		b.read(t, "1")
		r.expire(t, b.keys.Marker(b.reader("1")))
		a.wantFreed(t, a.reader("1"))
		r.wantFree(t)

		// Redisson keeps a marker for each hold of a thread.
		java := "5f0cd4e1-0000-4000-8000-000000000000:44"
		a.read(t, "1")
		r.rdb.HSet(t.Context(), name, java, "2")
		r.rdb.Set(t.Context(), a.keys.Marker(java)[:len(a.keys.Marker(java))-1]+"2", "1", 10*time.Second)
		a.wantFreed(t, a.reader("1"))
		r.wantFields(t, map[string]string{"mode": "read", java: "2"})
		r.wantTTL(t, name, 10*time.Second) // for no reader longer than for that one
		wantVerdict(t, "a writer beside it", b.write(t, "1").Verdict, lua.Busy)
	})
}

// The first reader's lease stays when a second one with a shorter lease leaves, and the other way round.
func TestReadLeases(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.rw("a")
		long, short := lua.RWAcquire{Lease: lease}, lua.RWAcquire{Lease: 20 * time.Second}
		a.take(t, a.reader("1"), long)
		a.take(t, a.reader("2"), short)
		r.wantTTL(t, name, lease)
		r.wantTTL(t, a.keys.Marker(a.reader("2")), 20*time.Second)
		a.wantFreed(t, a.reader("1"))
		r.wantTTL(t, name, 20*time.Second)
		if got := a.renewRead(t, a.reader("2"), lease); got != lua.Renewed {
			t.Fatalf("renewal: %v", got)
		}
		r.wantTTL(t, name, lease)
		r.wantTTL(t, a.keys.Marker(a.reader("2")), lease)
		r.unchanged(t, func() { a.renewRead(t, a.reader("2"), lease) })
		if got := a.renewRead(t, a.reader("1"), lease); got != lua.NotOwner {
			t.Fatalf("renewal of one that is gone: %v", got)
		}
		r.rdb.Del(t.Context(), a.keys.Marker(a.reader("2")))
		a.renewRead(t, a.reader("2"), lease)
		r.wantTTL(t, a.keys.Marker(a.reader("2")), lease) // set again
	})
}

// Renewals of readers and of other owners go in one batch.
func TestRenewMixed(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.rw("a")
		a.read(t, "1")
		plain := lua.KeysOf("plain", "a")
		r.strange = append(r.strange, plain.Lock)
		if _, err := (lua.Acquire{Owner: "a:1", Lease: lease, Order: a.next()}).Run(t.Context(), a.p, &plain); err != nil {
			t.Fatal(err)
		}
		got, err := lua.Renew(t.Context(), a.p, []lua.FieldOwner{
			{Lock: name, Owner: a.reader("2"), Marker: a.keys.Marker(a.reader("2"))},
			{Lock: plain.Lock, Owner: "a:1"},
			{Lock: name, Owner: a.reader("1"), Marker: a.keys.Marker(a.reader("1"))},
			{Lock: plain.Lock, Owner: "a:2"},
		}, 2*lease)
		want := []lua.Renewal{lua.NotOwner, lua.Renewed, lua.Renewed, lua.NotOwner}
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v, %v", got, err)
		}
		r.wantTTL(t, name, 2*lease)
		r.wantTTL(t, plain.Lock, 2*lease)
	})
}

// The write lease is never shortened, and never added to.
func TestWriteLease(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.rw("a")
		a.write(t, "1")
		a.take(t, a.writer("1"), lua.RWAcquire{Lease: time.Second})
		r.wantTTL(t, name, lease)
		a.read(t, "1")
		r.wantTTL(t, name, lease)
	})
}

// Tokens rise, and only a writer has one.
func TestWriteTokens(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.rw("a")
		fenced := lua.RWAcquire{Fencing: true}
		first := a.take(t, a.writer("1"), fenced).Token
		a.wantFreed(t, a.writer("1"))
		if g := a.take(t, a.reader("1"), fenced); g.Verdict != lua.Done || g.Token != 0 {
			t.Fatalf("a reader: %+v", g)
		}
		a.wantFreed(t, a.reader("1"))
		if second := a.take(t, a.writer("1"), fenced).Token; first == 0 || second <= first {
			t.Fatalf("tokens %d, %d", first, second)
		}
	})
}

// Force ends one side. Reads inside a write hold stay.
func TestRWForce(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.rw("a"), r.rw("b")
		a.read(t, "1")
		b.read(t, "1")
		if a.force(t, false) {
			t.Fatal("there is no writer")
		}
		if !b.force(t, true) {
			t.Fatal("there are readers")
		}
		r.wantFree(t)
		a.write(t, "1")
		a.read(t, "1")
		if a.force(t, true) {
			t.Fatal("the reads are the writer's")
		}
		if !b.force(t, false) {
			t.Fatal("there is a writer")
		}
		r.wantFields(t, map[string]string{"mode": "read", a.reader("1"): "1"})
	})
}

// ReleaseAfter leaves the place of one owner to nobody, and others where they are.
func TestRWLinger(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.rw("a"), r.rw("b")
		a.write(t, "1")
		l := lua.RWLinger{Owner: a.writer("1"), Nobody: a.owner("=released:1"), While: 20 * time.Second, Order: a.next(), Wake: a.wake}
		for range 2 {
			if v, _, err := l.Run(t.Context(), a.p, &a.keys); v != lua.Done || err != nil {
				t.Fatal(v, err)
			}
			r.wantFields(t, map[string]string{"mode": "write", a.writer("=released:1"): "1"})
			r.wantTTL(t, name, 20*time.Second)
		}
		r.rdb.Del(t.Context(), name)
		a.read(t, "1")
		l.Owner, l.Order = a.reader("1"), a.next()
		if v, _, err := l.Run(t.Context(), a.p, &a.keys); v != lua.Done || err != nil {
			t.Fatal(v, err)
		}
		r.wantFields(t, map[string]string{"mode": "read", a.reader("=released:1"): "1"})
		r.wantTTL(t, name, 20*time.Second)
		wantVerdict(t, "a reader beside nobody", b.read(t, "1").Verdict, lua.Done)
		b.wantFreed(t, b.reader("1"))
		wantVerdict(t, "a writer beside nobody", b.write(t, "1").Verdict, lua.Busy)
	})
}

// A lock of one kind is foreign to the other one, both ways, and stays as it is.
func TestRWForeign(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		ctx := t.Context()
		p, a := r.client("p"), r.rw("a")
		p.acquire(t, lua.Acquire{Owner: "1"})
		var all []error
		add := func(err error) { all = append(all, err) }
		r.unchanged(t, func() {
			_, err := a.fill(a.reader("1"), lua.RWAcquire{}).Run(ctx, a.p, &a.keys)
			add(err)
			_, err = a.fill(a.writer("1"), lua.RWAcquire{}).Run(ctx, a.p, &a.keys)
			add(err)
			_, err = lua.RWForce(ctx, a.p, &a.keys, a.wake, true, "")
			add(err)
			_, err = lua.RWInspect(ctx, a.p, &a.keys, a.reader("1"))
			add(err)
			_, err = lua.ReadRWReport(ctx, a.p, &a.keys, a.wake, true)
			add(err)
		})
		p.release(t, "1", lua.Order{})
		a.read(t, "1")
		r.unchanged(t, func() {
			_, err := p.fill(lua.Acquire{Owner: "1"}).Run(ctx, p.p, &p.keys)
			add(err)
			_, err = lua.Force(ctx, p.p, &p.keys, p.wake, "")
			add(err)
			_, err = lua.Inspect(ctx, p.p, &p.keys, p.owner("1"))
			add(err)
			_, err = lua.ReadReport(ctx, p.p, &p.keys, p.wake, true)
			add(err)
		})
		for i, err := range all {
			if !lua.ForeignKey(err) {
				t.Errorf("command %d: %v", i, err)
			}
		}
		if err := errors.Join(all...); err == nil {
			t.Fatal("no error at all")
		}
	})
}

// The queries see one side each, and the report all.
func TestRWQueries(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.rw("a"), r.rw("b")
		inspect := func(field string) lua.Inspection {
			t.Helper()
			got, err := lua.RWInspect(t.Context(), a.p, &a.keys, field)
			if err != nil {
				t.Fatal(err)
			}
			got.TTL = 0
			return got
		}
		free := lua.Inspection{}
		if inspect(a.reader("1")) != free || inspect(a.writer("1")) != free {
			t.Fatal("held")
		}
		a.write(t, "1")
		if got := inspect(a.writer("1")); got != (lua.Inspection{Held: true, Count: 1, Holder: a.writer("1")}) || inspect(a.reader("1")) != free {
			t.Fatalf("%+v", got)
		}
		a.read(t, "1")
		if got := inspect(b.reader("1")); got != (lua.Inspection{Held: true, Holder: a.reader("1")}) {
			t.Fatalf("%+v", got)
		}
		if got := inspect(a.reader("1")); got.Count != 1 {
			t.Fatalf("%+v", got)
		}
		r.expire(t, a.keys.Marker(a.reader("1")))
		if got := inspect(a.reader("1")); got.Count != 0 || !got.Held {
			t.Fatalf("%+v", got)
		}
		b.wait(t, b.reader("1"))
		got, err := lua.ReadRWReport(t.Context(), a.p, &a.keys, a.wake, true)
		if err != nil || got.Mode != "write" || len(got.Fields) != 2 || got.Fields[0].Owner != a.writer("1") ||
			len(got.Waiting) != 0 || len(got.Reading) != 1 || got.Reading[0].Client != "b" {
			t.Fatalf("%+v, %v", got, err)
		}
	})
}

// A client joins the field of its readers: its lease grows, a writer that waits bars it, and a field that is gone is not made
// anew. Each twice; a late one has no effect.
func TestJoin(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.rw("a"), r.rw("b")
		field := lua.SharedReaderField("a")
		var join lua.RWAcquire
		join.Joins, join.Wake, join.Lease = true, a.wake, 2*lease
		for range 2 {
			r.unchanged(t, func() { wantVerdict(t, "a free lock", a.take(t, field, join).Verdict, lua.NotHeld) })
		}
		wantVerdict(t, "the first reader", a.take(t, field, lua.RWAcquire{}).Verdict, lua.Done)
		order := a.next()
		for range 2 {
			join.Order = order
			if g := a.take(t, field, join); g.Verdict != lua.Done || g.RedissonWaiters != 0 || g.Token != 0 {
				t.Fatalf("%+v", g)
			}
			r.wantFields(t, map[string]string{"mode": "read", field: "1"})
			r.wantTTL(t, name, 2*lease)
			r.wantTTL(t, a.keys.Marker(field), 2*lease)
		}
		if n := len(r.waiters(t)); n != 0 {
			t.Fatalf("%d wait", n)
		}

		b.wait(t, b.writer("1"))
		join.Order, join.Register = lua.Order{}, lease
		for range 2 {
			g := a.take(t, field, join)
			wantVerdict(t, "a writer waits", g.Verdict, lua.Busy)
			if g.TTL <= 0 || g.TTL > 3*time.Second {
				t.Errorf("busy for %v", g.TTL)
			}
			r.wantFields(t, map[string]string{"mode": "read", field: "1"})
		}
		join.ReadersFirst = true
		wantVerdict(t, "readers first", a.take(t, field, join).Verdict, lua.Done)
		join.ReadersFirst = false
		b.leave(t)
		wantVerdict(t, "the writer has left", a.take(t, field, join).Verdict, lua.Done)

		late := a.next()
		a.free(t, field, a.marked())
		join.Order = late
		wantVerdict(t, "late", a.take(t, field, join).Verdict, lua.Stale)
		r.wantFree(t)
	})
}

// A join tells how many clients of Redisson wait.
func TestJoinCountsRedisson(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.rw("a")
		field := lua.SharedReaderField("a")
		a.take(t, field, lua.RWAcquire{})
		sub := r.rdb.Subscribe(t.Context(), a.keys.Channel())
		defer sub.Close()
		if _, err := sub.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		var join lua.RWAcquire
		join.Joins, join.Wake = true, a.wake
		if g := a.take(t, field, join); g.Verdict != lua.Done || g.RedissonWaiters != 1 {
			t.Errorf("%+v", g)
		}
	})
}

// A field of nobody's beside that of the readers, who go on. Twice sets the same field.
func TestRWLingerBeside(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.rw("a"), r.rw("b")
		field, nobody := lua.SharedReaderField("a"), a.owner("=released:1")
		a.take(t, field, lua.RWAcquire{})
		l := lua.RWLinger{Owner: field, Nobody: nobody, Keep: true, While: 2 * lease, Order: a.next(), Wake: a.wake}
		for range 2 {
			if v, _, err := l.Run(t.Context(), a.p, &a.keys); v != lua.Done || err != nil {
				t.Fatal(v, err)
			}
			r.wantFields(t, map[string]string{"mode": "read", field: "1", lua.ReaderField(nobody): "1"})
			r.wantTTL(t, name, 2*lease)
			r.wantTTL(t, a.keys.Marker(field), lease)
		}
		a.wantFreed(t, field)
		wantVerdict(t, "a writer beside nobody", b.write(t, "1").Verdict, lua.Busy)
		r.expire(t, name)
		wantVerdict(t, "a writer", b.write(t, "1").Verdict, lua.Done)
		b.wantFreed(t, b.writer("1"))
		l.Order = a.next()
		if v, _, err := l.Run(t.Context(), a.p, &a.keys); v != lua.NotHeld || err != nil {
			t.Error(v, err)
		}
	})
}

// A fixed lease is guarded: the lock lives as long as the marker, and neither longer. Twice changes nothing, and
// late, when the marker has gone, neither.
func TestReadGuard(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.rw("a")
		field := a.reader("1")
		guard := func() lua.Renewal {
			t.Helper()
			all, err := lua.Renew(t.Context(), a.p, []lua.FieldOwner{{Lock: name, Owner: field, Marker: a.keys.Marker(field), Guard: true}}, lease)
			if err != nil || len(all) != 1 {
				t.Fatalf("%v, %v", all, err)
			}
			return all[0]
		}
		if got := guard(); got != lua.NotOwner {
			t.Errorf("a free lock: %v", got)
		}
		a.take(t, field, lua.RWAcquire{Lease: 4 * lease})
		r.rdb.PExpire(t.Context(), name, lease/4) // as Redisson's watchdog does
		for range 2 {
			if got := guard(); got != lua.Renewed {
				t.Errorf("%v", got)
			}
			r.wantTTL(t, name, 4*lease)
			r.wantTTL(t, a.keys.Marker(field), 4*lease)
		}
		r.rdb.PExpire(t.Context(), name, 8*lease)
		r.unchanged(t, func() { guard() })
		r.rdb.Del(t.Context(), a.keys.Marker(field))
		r.unchanged(t, func() { guard() })
	})
}

// A user that may not read TTLs leaves no lock, and in particular none without a TTL.
func TestRWNoLockWithoutPTTL(t *testing.T) {
	onReal(t, func(t *testing.T, r *rig) {
		a := rwClient{r.as(t, "a", "~*", "&*", "+@all", "-pttl")}
		a.keys = lua.RWKeysOf(name, "a")
		for _, field := range []string{a.reader("1"), a.writer("1")} {
			_, _ = a.fill(field, lua.RWAcquire{}).Run(t.Context(), a.p, &a.keys)
			if ttl := r.rdb.PTTL(t.Context(), name).Val(); ttl == -1 {
				t.Errorf("%s: the lock has no TTL", field)
			}
			r.rdb.FlushAll(t.Context())
		}
	})
}
