package lua_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/lua"
)

func TestFairUncontended(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.fair("a")
		a.wantLocked(t, "1")
		r.wantHeld(t, "a:1", "1")
		r.wantTTL(t, name, lease)
		r.unchanged(t, func() { a.wantLocked(t, "1") }) // twice
		a.wantUnlocked(t, "1")
		r.wantFree(t)
		r.unchanged(t, func() {
			v, _ := a.unlock(t, "1", lua.Order{})
			wantVerdict(t, "release twice", v, lua.NotHeld)
		})
	})
}

// Who waits gets the lock in the order of the line, over clients, and nobody else does.
func TestFairOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, c, d := r.fair("a"), r.fair("b"), r.fair("c"), r.fair("d")
		a.wantLocked(t, "1")
		for _, w := range []fairClient{c, b, d} {
			if g := w.wantWaits(t, "1"); g.Holder != "a:1" || g.TTL <= lease-slack || g.RedissonAhead {
				t.Fatalf("%+v", g)
			}
		}
		r.unchanged(t, func() { b.wantWaits(t, "1") }) // twice
		r.wantLine(t, c.ticket("1"), b.ticket("1"), d.ticket("1"))
		r.wantScore(t, c.ticket("1"), lease+places)
		r.wantScore(t, d.ticket("1"), lease+3*places)

		before := a
		for i, w := range []fairClient{c, b, d} {
			sub := listen(t, r, w.keys.Own())
			before.wantUnlocked(t, "1")
			sub.want(t, w.keys.Own(), "0")
			r.wantFree(t)
			for _, other := range []fairClient{b, c, d, r.fair("e")} {
				if other.id == w.id {
					continue
				}
				g := other.try(t, "x", lua.InLine{}, lua.Order{})
				if g.Verdict != lua.Busy || g.Holder != "" || g.TTL <= 0 || g.TTL > 2*time.Second {
					t.Fatalf("%d, %s barges in: %+v", i, other.id, g)
				}
			}
			w.wantLocked(t, "1")
			before = w
		}
		r.wantLine(t)
		d.wantUnlocked(t, "1")
		if r.exists(t, a.keys.Line()) {
			t.Error("something is left")
		}
	})
}

// A hand-off goes to the next waiter of the client only if that is the first.
func TestFairPass(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.fair("a"), r.fair("b")
		a.wantLocked(t, "1")
		// Two newcomers ride on the hand-off.
		order := a.next()
		for range 2 { // the second run changes nothing
			wantVerdict(t, "hand-off", a.hand(t, "1", "2", order, "2", "3").Verdict, lua.Done)
			r.wantHeld(t, "a:2", "1")
			r.wantLine(t, a.ticket("3"))
		}
		b.wantWaits(t, "1")
		wantVerdict(t, "hand-off", a.hand(t, "2", "3", lua.Order{}, "4").Verdict, lua.Done)
		r.wantLine(t, b.ticket("1"), a.ticket("4"))

		sub := listen(t, r, b.keys.Own())
		order = a.next()
		wantVerdict(t, "it is b's turn", a.hand(t, "3", "4", order).Verdict, lua.PassedOn)
		sub.want(t, b.keys.Own(), "0")
		r.wantFree(t)
		r.unchanged(t, func() { wantVerdict(t, "twice", a.hand(t, "3", "4", order).Verdict, lua.NotHeld) })
		b.wantLocked(t, "1")
		r.unchanged(t, func() { wantVerdict(t, "late", a.hand(t, "3", "4", order).Verdict, lua.NotHeld) })
		listen(t, r, a.keys.Own())
		b.wantUnlocked(t, "1")
		a.wantLocked(t, "4")
	})
}

// A waiter that dies costs those behind it no time: nobody hears that it is its turn.
func TestFairDeadHead(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, c, d := r.fair("a"), r.fair("b"), r.fair("c"), r.fair("d")
		a.wantLocked(t, "1")
		b.wantWaits(t, "1")
		c.wantWaits(t, "1")
		d.wantWaits(t, "1")
		sub := listen(t, r, d.keys.Own())
		a.wantUnlocked(t, "1")
		sub.want(t, d.keys.Own(), "0")
		r.wantLine(t, d.ticket("1"))
		d.wantLocked(t, "1")
		// b was only deaf: it comes before those who came after it, and c before those too.
		e := r.fair("e")
		e.wantWaits(t, "1")
		wantVerdict(t, "c is back", c.again(t, "1").Verdict, lua.Busy)
		wantVerdict(t, "b is back", b.again(t, "1").Verdict, lua.Busy)
		r.wantLine(t, b.ticket("1"), c.ticket("1"), e.ticket("1"))
		d.wantUnlocked(t, "1") // nobody listens but d
		b.again(t, "1")
		r.wantHeld(t, "b:1", "1")
	})
}

// A head that hears its message and does not come is dropped after 2 s, and one of Redisson after 10 s.
func TestFairAbsentHead(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, c := r.fair("a"), r.fair("b"), r.fair("c")
		a.wantLocked(t, "1")
		b.wantWaits(t, "1")
		r.javaWaits(t, thread, time.Hour)
		c.wantWaits(t, "1")
		sub := listen(t, r, b.keys.Own(), c.keys.Own(), c.keys.Channel()+":"+thread)
		a.wantUnlocked(t, "1")
		sub.want(t, b.keys.Own(), "0")
		if g := c.wantWaits(t, "1"); g.TTL > 2*time.Second || !g.RedissonAhead {
			t.Fatalf("%+v", g)
		}
		r.back(t, 2*time.Second)
		if g := c.wantWaits(t, "1"); g.TTL > 10*time.Second || g.TTL < 3*time.Second {
			t.Fatalf("%+v", g)
		}
		sub.want(t, c.keys.Channel()+":"+thread, "0")
		r.wantLine(t, thread, c.ticket("1"))
		r.back(t, 9*time.Second)
		c.wantWaits(t, "1")
		sub.wantNothing(t, r)
		r.back(t, time.Second)
		c.wantLocked(t, "1")
		r.wantLine(t)
	})
}

// A head whose score has passed has a second. The same thread of Redisson with another score is told anew.
func TestFairToldAnew(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.fair("a")
		r.javaWaits(t, thread, time.Hour)
		sub := listen(t, r, a.keys.Channel()+":"+thread)
		a.wantWaits(t, "1")
		sub.want(t, a.keys.Channel()+":"+thread, "0")
		r.back(t, time.Minute)
		r.rdb.ZIncrBy(t.Context(), a.keys.Timeouts(), -2*time.Hour.Seconds()*1000, thread)
		if g := a.wantWaits(t, "1"); g.TTL != 10*time.Second {
			t.Fatalf("%+v", g)
		}
		sub.want(t, a.keys.Channel()+":"+thread, "0")
		r.back(t, 1100*time.Millisecond)
		a.wantLocked(t, "1")
	})
}

// Who leaves is out of the line, and the next one is told if it was its turn.
func TestFairLeave(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.fair("a"), r.fair("b")
		a.wantLocked(t, "1")
		a.lineUp(t, false, nil, []string{"2", "3"})
		b.wantWaits(t, "1")
		sub := listen(t, r, a.keys.Own(), b.keys.Own())
		a.quit(t, "3")
		r.unchanged(t, func() { a.quit(t, "3") })
		sub.wantNothing(t, r)
		r.wantLine(t, a.ticket("2"), b.ticket("1"))
		a.wantUnlocked(t, "1")
		sub.want(t, a.keys.Own(), "0")
		a.quit(t, "2")
		sub.want(t, b.keys.Own(), "0")
		b.wantLocked(t, "1")
	})
}

// A wait of 0 never gets into the line.
func TestFairTryLeavesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.fair("a"), r.fair("b")
		a.wantLocked(t, "1")
		wantVerdict(t, "try", b.try(t, "1", lua.InLine{}, lua.Order{}).Verdict, lua.Busy)
		r.wantLine(t)
		a.wantUnlocked(t, "1")
		wantVerdict(t, "try", b.try(t, "1", lua.InLine{}, lua.Order{}).Verdict, lua.Done)
	})
}

// What is owed is paid: the scores are what they would be if each grant had lowered them at once.
func TestFairScores(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.fair("a"), r.fair("b")
		a.wantLocked(t, "1")
		a.lineUp(t, false, nil, []string{"2", "3", "4"})
		r.javaWaits(t, thread, lease+4*places)
		b.wantWaits(t, "1")
		r.wantScore(t, b.ticket("1"), lease+5*places)
		a.hand(t, "1", "2", lua.Order{})
		a.hand(t, "2", "3", lua.Order{})
		for range 2 { // the second run changes nothing
			a.lineUp(t, true, []string{"4"}, nil)
			r.wantScore(t, a.ticket("4"), lease+places)
			r.wantScore(t, thread, lease+2*places)
			r.wantScore(t, b.ticket("1"), lease+3*places)
		}
		// Redisson's threads may have been given a longer wait: what was paid is not taken from them again.
		r.rdb.ZIncrBy(t.Context(), a.keys.Timeouts(), float64(time.Hour.Milliseconds()), b.ticket("1"))
		a.lineUp(t, true, []string{"4"}, nil)
		r.wantScore(t, b.ticket("1"), lease+3*places+time.Hour)
		// Redisson has been granted the lock, and has lowered the score of a waiter that is alive.
		r.rdb.ZIncrBy(t.Context(), a.keys.Timeouts(), -float64(places.Milliseconds()), a.ticket("4"))
		a.lineUp(t, true, []string{"4"}, nil)
		r.wantScore(t, a.ticket("4"), lease+places)
	})
}

// Who was dropped comes back to its place among those of its client, and before all others.
func TestFairDroppedComeBack(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.fair("a"), r.fair("b")
		b.wantLocked(t, "1")
		a.lineUp(t, false, nil, []string{"1", "2", "3"})
		r.javaWaits(t, thread, time.Hour)
		for range 2 {
			r.rdb.ZRem(t.Context(), a.keys.Timeouts(), r.rdb.LPop(t.Context(), a.keys.Queue()).Val())
		}
		wantVerdict(t, "the first is back", a.again(t, "1").Verdict, lua.Busy)
		if n := a.lineUp(t, true, []string{"1", "2", "3"}, []string{"4"}); n != 1 {
			t.Fatalf("%d dropped", n)
		}
		r.wantLine(t, a.ticket("1"), a.ticket("2"), a.ticket("3"), thread, a.ticket("4"))
		// Redis has forgotten all.
		r.rdb.Del(t.Context(), a.keys.Queue(), a.keys.Timeouts())
		if n := a.lineUp(t, false, []string{"1", "2", "3", "4"}, nil); n != 4 {
			t.Fatalf("%d dropped", n)
		}
		r.wantLine(t, a.ticket("1"), a.ticket("2"), a.ticket("3"), a.ticket("4"))
	})
}

// Redis evicts the line, or somebody deletes it, and its scores stay. Who was in it comes before those who came later.
func TestFairLineForgotten(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, c := r.fair("a"), r.fair("b"), r.fair("c")
		a.wantLocked(t, "1")
		b.wantWaits(t, "1")
		b.wantWaits(t, "2")
		forget(t, r, b)
		c.wantWaits(t, "1")
		b.again(t, "1")
		r.wantLine(t, b.ticket("1"), c.ticket("1"))
		forget(t, r, b)
		_, _, err := lua.LineUp{Client: "b", Wait: places, Refresh: true, Old: []string{b.ticket("1"), b.ticket("2")}}.Run(t.Context(), b.p, &b.keys)
		if err != nil {
			t.Fatal(err)
		}
		r.wantLine(t, b.ticket("1"), b.ticket("2"))

		forget(t, r, b)
		a.wantUnlocked(t, "1")
		wantVerdict(t, "who was in the line", b.again(t, "1").Verdict, lua.Done)
		if r.exists(t, b.keys.Timeouts()) {
			t.Error("scores are left without a line")
		}
	})
}

func forget(t *testing.T, r *rig, c fairClient) {
	t.Helper()
	if err := r.rdb.Del(t.Context(), c.keys.Queue()).Err(); err != nil {
		t.Fatal(err)
	}
}

// Commands below the epoch change nothing.
func TestFairLate(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.fair("a")
		late := a.next()
		wantVerdict(t, "lock", a.try(t, "1", lua.InLine{Ticket: a.ticket("1")}, a.marked()).Verdict, lua.Done)
		a.lineUp(t, false, nil, []string{"2"})
		r.unchanged(t, func() {
			wantVerdict(t, "acquire", a.try(t, "2", lua.InLine{Ticket: a.ticket("2")}, late).Verdict, lua.Stale)
			wantVerdict(t, "pass", a.hand(t, "1", "2", late).Verdict, lua.Stale)
			v, _ := a.unlock(t, "1", late)
			wantVerdict(t, "release", v, lua.Stale)
			v, _, err := lua.LineUp{Client: a.id, Order: late, Wait: places, New: []string{a.ticket("3")}}.Run(t.Context(), a.p, &a.keys)
			if err != nil {
				t.Fatal(err)
			}
			wantVerdict(t, "line up", v, lua.Stale)
			v, err = lua.LeaveLine{Tickets: []string{a.ticket("2")}, Order: late, Wake: a.wake}.Run(t.Context(), a.p, &a.keys)
			if err != nil {
				t.Fatal(err)
			}
			wantVerdict(t, "leave", v, lua.Stale)
		})
		v, set := a.unlock(t, "1", a.marked())
		if wantVerdict(t, "release", v, lua.Done); !set {
			t.Error("the epoch is not set")
		}
	})
}

// ForceUnlock frees the lock, and the first is told. ReleaseAfter tells all.
func TestFairForceAndLinger(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.fair("a"), r.fair("b")
		a.wantLocked(t, "1")
		b.wantWaits(t, "1")
		b.lineUp(t, false, nil, []string{"2"})
		r.javaWaits(t, thread, time.Hour)
		sub := listen(t, r, b.keys.Own(), b.keys.Channel()+":"+thread)
		freed, err := lua.ForceFair(t.Context(), a.p, &a.keys, a.wake, "")
		if err != nil || !freed {
			t.Fatal(freed, err)
		}
		sub.want(t, b.keys.Own(), "0")
		b.wantLocked(t, "1")
		linger := lua.Linger{Owner: b.owner("1"), Nobody: b.owner("=released:1"), While: time.Second, Order: b.next(), Wake: b.wake}
		v, _, err := linger.RunFair(t.Context(), b.p, &b.keys)
		if err != nil {
			t.Fatal(err)
		}
		wantVerdict(t, "linger", v, lua.Done)
		r.wantTTL(t, name, time.Second)
		sub.want(t, b.keys.Own(), "0") // once
		sub.want(t, b.keys.Channel()+":"+thread, "0")
		report, err := lua.ReadFairReport(t.Context(), a.p, &a.keys, true)
		if err != nil || len(report.Line) != 2 || report.Line[0].Owner != "b:2" || report.Line[1].Owner != thread || len(report.Fields) != 1 {
			t.Fatalf("%+v, %v", report, err)
		}
	})
}

// Tokens rise with each grant and each hand-off.
func TestFairFencing(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, last := r.fair("a"), int64(0)
		rises := func(g lua.Granted, err error) {
			t.Helper()
			if err != nil || g.Verdict != lua.Done || g.Token <= last {
				t.Fatalf("%+v after %d, %v", g, last, err)
			}
			last = g.Token
		}
		inLine := &lua.InLine{Ticket: a.ticket("1"), Wait: places, Wake: a.wake}
		rises(a.fill(lua.Acquire{Owner: "1", Fencing: true, InLine: inLine}).RunFair(t.Context(), a.p, &a.keys))
		inLine.Ticket, inLine.Newcomers = a.ticket("2"), []string{a.ticket("2")}
		for range 2 {
			rises(lua.Transfer{From: "a:1", To: "a:2", Lease: lease, Order: a.next(), Fencing: true, Wake: a.wake, InLine: inLine}.RunFair(t.Context(), a.p, &a.keys))
		}
	})
}

// Keys of another type are an error, and stay as they are.
func TestFairForeign(t *testing.T) {
	k := lua.KeysOf(name, "a")
	for _, key := range []string{k.Lock, k.Queue()} {
		t.Run(key, func(t *testing.T) {
			onBoth(t, func(t *testing.T, r *rig) {
				a := r.fair("a")
				r.foreign(t, key, "SET", key, "x")
				r.unchanged(t, func() {
					a2 := a.fill(lua.Acquire{Owner: "1", InLine: &lua.InLine{Ticket: a.ticket("1"), Wait: places, Wake: a.wake}, Order: a.marked()})
					if _, err := a2.RunFair(t.Context(), a.p, &a.keys); err == nil {
						t.Error("granted")
					}
				})
			})
		})
	}
}

func TestPlaceOf(t *testing.T) {
	at := time.UnixMicro(1_764_000_000_123_456)
	for element, want := range map[string]lua.Place{
		lua.TicketOf("a:1", uint64(at.UnixMicro())): {Owner: "a:1", Arrival: at},
		"a:x#1#22": {Owner: "a:x#1", Arrival: time.UnixMicro(22)},
		thread:     {Owner: thread},
		"a:x#":     {Owner: "a:x#"},
		"a:x#-1":   {Owner: "a:x#-1"},
		"a#1x":     {Owner: "a#1x"},
		"":         {},
		"12":       {Owner: "12"},
	} {
		if got := lua.PlaceOf(element); got != want {
			t.Errorf("%q is %+v, want %+v", element, got, want)
		}
	}
}
