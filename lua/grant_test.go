package lua_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/lua"
)

// claim is that of most registrations: a busy machine must not make one stale.
const claim = 30 * time.Second

// expect registers c for the busy lock, and asks the release for a grant to c's owner 1. It returns the arrival.
func (c *client) expect(t *testing.T, nonce string) int64 {
	t.Helper()
	return c.register(t, lua.Acquire{Nonce: nonce, Claim: claim})
}

func (c *client) register(t *testing.T, a lua.Acquire) int64 {
	t.Helper()
	a.Owner, a.Register = "1", lease
	g := c.acquire(t, a)
	if g.Verdict != lua.Busy || g.Since == 0 {
		t.Fatalf("%+v", g)
	}
	return g.Since
}

// expecting has a hold the lock, and b and c wait for a grant.
func (r *rig) expecting(t *testing.T) (a, b, c *client, sub *subscription) {
	t.Helper()
	a, b, c = r.client("a"), r.client("b"), r.client("c")
	a.acquire(t, lua.Acquire{Owner: "1"})
	b.expect(t, "n-b")
	c.expect(t, "n-c")
	return a, b, c, listen(t, r, b.keys.Own(), c.keys.Own(), a.keys.Channel())
}

// granted has the release grant b the lock, while c waits too.
func (r *rig) granted(t *testing.T) (a, b, c *client, sub *subscription) {
	t.Helper()
	a, b, c, sub = r.expecting(t)
	a.release(t, "1", lua.Order{})
	sub.want(t, b.keys.Own(), "n-b")
	return a, b, c, sub
}

// wantGranted wants the lock to be the owner's for the claim, and these clients to wait.
func (r *rig) wantGranted(t *testing.T, owner string, waiting ...string) {
	t.Helper()
	r.wantHeld(t, owner, "1")
	r.wantTTL(t, name, claim)
	r.wantWaiting(t, waiting...)
	if r.exists(t, lua.KeysOf(name, "").Turn()) {
		t.Fatal("a turn beside the grant")
	}
}

// wantWaiting wants these clients in the registry, each with what a release needs to grant it the lock.
func (r *rig) wantWaiting(t *testing.T, waiting ...string) {
	t.Helper()
	if got := r.waiters(t); !slices.Equal(got, waiting) {
		t.Fatalf("waiters %v, want %v", got, waiting)
	}
	asked := r.rdb.HKeys(t.Context(), lua.KeysOf(name, "").Grants()).Val()
	if slices.Sort(asked); !slices.Equal(asked, waiting) {
		t.Fatalf("%v have asked for a grant, want %v", asked, waiting)
	}
}

// wantWoken wants the free lock to be kept for c, and c to be told.
func (r *rig) wantWoken(t *testing.T, sub *subscription, c *client) {
	t.Helper()
	sub.want(t, c.keys.Own(), "0")
	sub.want(t, c.keys.Channel(), "-0")
	r.wantFree(t)
	if turn := r.rdb.Get(t.Context(), c.keys.Turn()).Val(); turn != c.id {
		t.Fatalf("the turn is %q's", turn)
	}
}

func TestReleaseGrantsTheFirst(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, _, sub := r.expecting(t)
		r.wantTTL(t, a.keys.Grants(), lease)
		order := a.next()
		wantVerdict(t, "release", first(a.release(t, "1", order)), lua.Done)
		sub.want(t, b.keys.Own(), "n-b")
		sub.wantNothing(t, r) // nor on the common channel: the lock is not free
		r.wantGranted(t, "b:1", "c")
		r.unchanged(t, func() { // twice changes nothing
			wantVerdict(t, "again", first(a.release(t, "1", order)), lua.NotHeld)
			sub.wantNothing(t, r)
		})
		wantVerdict(t, "a", a.acquire(t, lua.Acquire{Owner: "1"}).Verdict, lua.Busy)
	})
}

// The message may be lost: the client's next attempt finds its owner's field.
func TestGrantIsFoundByTheOwner(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, c, sub := r.granted(t)
		wantVerdict(t, "c", c.acquire(t, lua.Acquire{Owner: "1"}).Verdict, lua.Busy)
		wantVerdict(t, "b", b.acquire(t, lua.Acquire{Owner: "1", Since: 1, Register: lease}).Verdict, lua.Done)
		r.wantHeld(t, "b:1", "1")
		r.wantTTL(t, name, lease)
		b.release(t, "1", lua.Order{})
		sub.want(t, c.keys.Own(), "n-c")
		r.wantGranted(t, "c:1")
		c.release(t, "1", lua.Order{})
		sub.want(t, a.keys.Channel(), "-0")
		r.wantFree(t)
	})
}

// A renewal is the claim of the lock: it raises the TTL to the lease.
func TestGrantIsRenewed(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		_, b, _, _ := r.granted(t)
		if got := b.renew(t, "1", lease); got != lua.Renewed {
			t.Fatalf("renewal: %d", got)
		}
		r.wantTTL(t, name, lease)
	})
}

func TestForceGrants(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, _, sub := r.expecting(t)
		if !a.force(t) {
			t.Fatal("nothing freed")
		}
		sub.want(t, b.keys.Own(), "n-b")
		sub.wantNothing(t, r)
		r.wantGranted(t, "b:1", "c")
	})
}

func TestGrantShardedPublish(t *testing.T) {
	redistest.Needs(t, "7.0", "sharded pub/sub")
	t.Parallel()
	onReal(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		a.wake = wakeSharded
		a.acquire(t, lua.Acquire{Owner: "1"})
		b.expect(t, "n-b")
		ps := r.rdb.SSubscribe(t.Context(), b.keys.Own())
		defer ps.Close()
		if _, err := ps.ReceiveTimeout(t.Context(), within); err != nil {
			t.Fatal(err)
		}
		a.release(t, "1", lua.Order{})
		(&subscription{ps: ps}).want(t, b.keys.Own(), "n-b")
		r.wantGranted(t, "b:1")
	})
}

// Nobody hears the nonce, so the process has died: the script takes the field back and goes on.
func TestGrantSkipsTheDead(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		a.acquire(t, lua.Acquire{Owner: "1"})
		r.client("dead").expect(t, "n-1")
		r.client("dead2").expect(t, "n-2")
		b.expect(t, "n-b")
		sub := listen(t, r, b.keys.Own(), a.keys.Channel())
		a.release(t, "1", lua.Order{})
		sub.want(t, b.keys.Own(), "n-b")
		sub.wantNothing(t, r)
		r.wantGranted(t, "b:1")
	})
}

func TestGrantToTheDeadOnly(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		a.acquire(t, lua.Acquire{Owner: "1"})
		r.client("dead").expect(t, "n-1")
		r.client("dead2").expect(t, "n-2")
		a.release(t, "1", lua.Order{})
		if n := r.rdb.DBSize(t.Context()).Val(); n != 0 {
			t.Fatalf("%d keys are left", n)
		}
	})
}

// Who registers without a nonce is of an older version, or wants no grant. Who hears on another node is in no
// count, so a grant might have no holder. Both are woken.
func TestReleaseWakesInsteadOfGranting(t *testing.T) {
	for what, prepare := range map[string]func(t *testing.T, a, b *client){
		"without a nonce": func(t *testing.T, _, b *client) { b.wait(t, 0) },
		"uncounted": func(t *testing.T, a, b *client) {
			b.expect(t, "n-b")
			a.wake = wakeUncounted
		},
		"a later attempt without a nonce": func(t *testing.T, _, b *client) { b.wait(t, b.expect(t, "n-b")) },
	} {
		t.Run(what, func(t *testing.T) {
			onBoth(t, func(t *testing.T, r *rig) {
				a, b := r.client("a"), r.client("b")
				a.acquire(t, lua.Acquire{Owner: "1"})
				prepare(t, a, b)
				sub := listen(t, r, b.keys.Own(), a.keys.Channel())
				a.release(t, "1", lua.Order{})
				r.wantWoken(t, sub, b)
				sub.wantNothing(t, r)
			})
		})
	}
}

// A pile of stopped clients would cost a claim each, if stale registrations were granted.
func TestStaleRegistrationIsWoken(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		a.acquire(t, lua.Acquire{Owner: "1"})
		b.register(t, lua.Acquire{Nonce: "n-b", Claim: 5 * time.Millisecond})
		registered := r.rdb.Time(t.Context()).Val()
		redistest.Eventually(t, within, "the claim is over", func() bool {
			return r.rdb.Time(t.Context()).Val().Sub(registered) > 5*time.Millisecond
		})
		sub := listen(t, r, b.keys.Own(), a.keys.Channel())
		a.release(t, "1", lua.Order{})
		r.wantWoken(t, sub, b)
	})
}

// The claim counts from the last attempt, not from the arrival: who has waited for long is granted the lock.
func TestGrantAfterALongWait(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		a.acquire(t, lua.Acquire{Owner: "1"})
		b.register(t, lua.Acquire{Nonce: "n-b", Claim: claim, Since: time.Now().Add(-time.Hour).UnixMicro()})
		sub := listen(t, r, b.keys.Own())
		a.release(t, "1", lua.Order{})
		sub.want(t, b.keys.Own(), "n-b")
		r.wantGranted(t, "b:1")
	})
}

// Redisson waits too, and cannot be granted the lock: it would never get it.
func TestNoGrantWhileRedissonWaits(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, _, sub := r.expecting(t)
		redissonWaiter(t, r)
		a.release(t, "1", lua.Order{})
		sub.want(t, b.keys.Own(), "0")
		sub.want(t, a.keys.Channel(), "-0")
		r.wantFree(t)
		if turn := r.rdb.Get(t.Context(), a.keys.Turn()).Val(); turn != "*" {
			t.Fatalf("the turn is %q's", turn)
		}
		r.wantTTL(t, a.keys.Turn(), yields)
	})
}

// Only the last attempt's nonce counts: the client may have made an attempt that voids the one before.
func TestNewerAttemptReplacesTheNonce(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		a.acquire(t, lua.Acquire{Owner: "1"})
		b.register(t, lua.Acquire{Since: b.expect(t, "n-1"), Nonce: "n-2", Claim: claim})
		sub := listen(t, r, b.keys.Own(), a.keys.Channel())
		a.release(t, "1", lua.Order{})
		sub.want(t, b.keys.Own(), "n-2")
		sub.wantNothing(t, r)
		r.wantGranted(t, "b:1")
	})
}

// What a client leaves in the registry does not outlive its own acquisition.
func TestAcquisitionEndsTheRegistration(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, _, _ := r.expecting(t)
		since := int64(r.rdb.ZScore(t.Context(), b.keys.Waiters(), "b").Val())
		r.rdb.Del(t.Context(), a.keys.Lock)
		wantVerdict(t, "b", b.acquire(t, lua.Acquire{Owner: "1", Since: since}).Verdict, lua.Done)
		r.wantWaiting(t, "c")
	})
}

// releaseFenced is the release of an owner that has a token.
func (c *client) releaseFenced(t *testing.T, who string) {
	t.Helper()
	v, _, err := lua.Release{Owner: c.owner(who), Order: c.next(), Wake: c.wake, Fencing: true}.Run(t.Context(), c.p, &c.keys)
	if err != nil || v != lua.Done {
		t.Fatalf("release: %d, %v", v, err)
	}
}

func TestGrantRaisesTheToken(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		last := a.take(t, 0)
		sub := listen(t, r, b.keys.Own(), a.keys.Channel())
		for range 3 {
			b.register(t, lua.Acquire{Nonce: "n-b", Claim: claim, Fencing: true})
			a.releaseFenced(t, "1")
			var token int64
			if m := sub.next(t); m.Channel != b.keys.Own() {
				t.Fatalf("%q on %q", m.Payload, m.Channel)
			} else if _, err := fmt.Sscanf(m.Payload, "n-b %d", &token); err != nil || token <= last {
				t.Fatalf("%q after token %d", m.Payload, last)
			}
			if got := r.rdb.Get(t.Context(), a.keys.Token()).Val(); got != decimal(token) {
				t.Fatalf("the counter is %q, the token %d", got, token)
			}
			r.wantGranted(t, "b:1")
			b.release(t, "1", lua.Order{})
			sub.want(t, a.keys.Channel(), "-0")
			last = a.take(t, token)
		}
	})
}

// A holder without a token has no counter to raise, and a waiter that needs a token is woken. The other way
// round the waiter is granted what it asked for.
func TestGrantBesideFencing(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		sub := listen(t, r, b.keys.Own(), a.keys.Channel())
		a.acquire(t, lua.Acquire{Owner: "1"})
		b.register(t, lua.Acquire{Nonce: "n-1", Claim: claim, Fencing: true})
		a.release(t, "1", lua.Order{})
		r.wantWoken(t, sub, b)
		b.leave(t)
		sub.want(t, a.keys.Channel(), "-0")

		last := a.take(t, 0)
		b.expect(t, "n-2")
		a.releaseFenced(t, "1")
		sub.want(t, b.keys.Own(), "n-2")
		r.wantGranted(t, "b:1")
		if got := r.rdb.Get(t.Context(), a.keys.Token()).Val(); got != decimal(last) {
			t.Fatalf("the counter is %q, the last token %d", got, last)
		}
	})
}

// The owner to whom a release has granted the lock does not wait any more: another owner of the client gets it.
func TestAcquireTakesOverTheDepartedOwner(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		_, b, _, sub := r.granted(t)
		wantVerdict(t, "b", b.acquire(t, lua.Acquire{Owner: "2", Departed: []string{"b:0", "b:1"}}).Verdict, lua.Done)
		r.wantHeld(t, "b:2", "1")
		r.wantTTL(t, name, lease)
		sub.wantNothing(t, r) // the lock was never free
	})
}

// Whatever the client names, another's field stays.
func TestAcquireTakesOverNobodyElse(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b, _, _ := r.expecting(t)
		take := lua.Acquire{Owner: "2", Departed: []string{"b:1"}}
		r.unchanged(t, func() {
			if g := b.acquire(t, take); g.Verdict != lua.Busy || g.Holder != "a:1" {
				t.Fatalf("%+v", g)
			}
		})
		a.release(t, "1", lua.Order{})
		r.rdb.HSet(t.Context(), name, "java:1", 1)
		if g := b.acquire(t, take); g.Verdict != lua.Busy || g.Holder != "java:1" {
			t.Fatalf("%+v", g)
		}
		r.wantHeld(t, "java:1", "1")
	})
}

// An attempt that comes late must not take the lock from the owner that has got it meanwhile.
func TestTakeOverLate(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		_, b, _, _ := r.granted(t)
		late := b.next()
		b.acquire(t, lua.Acquire{Owner: "1", Order: b.marked()})
		r.unchanged(t, func() {
			g := b.acquire(t, lua.Acquire{Owner: "2", Departed: []string{"b:1"}, Order: late})
			wantVerdict(t, "late", g.Verdict, lua.Stale)
		})
	})
}

// depart sends the leave of a client that names its owners.
func (c *client) depart(t *testing.T, order lua.Order, owners ...string) lua.Verdict {
	t.Helper()
	v, err := lua.Leave{Client: c.id, Owners: owners, Order: order, Wake: c.wake}.Run(t.Context(), c.p, &c.keys)
	if err != nil {
		t.Fatalf("leave: %v", err)
	}
	return v
}

func TestLeavePassesTheGrantOn(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		_, b, c, sub := r.granted(t)
		order := b.next()
		wantVerdict(t, "leave", b.depart(t, order, "b:1"), lua.Done)
		r.wantGranted(t, "c:1")
		sub.want(t, c.keys.Own(), "n-c")
		r.unchanged(t, func() { // twice leaves c its grant
			b.depart(t, order, "b:1")
			sub.wantNothing(t, r)
		})
		c.depart(t, c.next(), "c:1")
		if n := r.rdb.DBSize(t.Context()).Val(); n != 0 {
			t.Fatalf("%d keys are left", n)
		}
	})
}

// The next one has asked for no grant.
func TestLeaveWakesAfterAGrant(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		_, b, c, sub := r.granted(t)
		c.wait(t, 0)
		b.depart(t, b.next(), "b:1")
		r.wantFree(t)
		r.wantWoken(t, sub, c)
	})
}

// A leave takes the client's owners out, and nobody else; without owners it takes nobody out.
func TestLeaveTakesOnlyItsOwners(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		_, b, c, sub := r.granted(t)
		b.leave(t)
		r.wantGranted(t, "b:1", "c")
		c.depart(t, c.next(), "c:1")
		sub.wantNothing(t, r)
		r.wantGranted(t, "b:1")
	})
}

// An owner named by a leave that comes late may hold the lock by an attempt of its own.
func TestLeaveLate(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		_, b, _, sub := r.granted(t)
		late := b.marked()
		b.acquire(t, lua.Acquire{Owner: "1", Order: b.marked()})
		r.unchanged(t, func() {
			wantVerdict(t, "late", b.depart(t, late, "b:1"), lua.Stale)
			sub.wantNothing(t, r)
		})
	})
}

// An attempt that was not answered may run after the leave that takes back what it has led to.
func TestLeaveSetsTheEpoch(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		_, b, _, _ := r.granted(t)
		late := b.next()
		b.depart(t, b.marked(), "b:1")
		r.wantTTL(t, b.keys.Epoch(), lease)
		r.unchanged(t, func() {
			wantVerdict(t, "late", b.acquire(t, lua.Acquire{Owner: "1", Order: late}).Verdict, lua.Stale)
		})
	})
}

// An owner may have spaces in its name, and a nonce has none.
func TestGrantToAnOwnerWithSpaces(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		a.acquire(t, lua.Acquire{Owner: "1"})
		b.acquire(t, lua.Acquire{Owner: " 1 2 \n3", Register: lease, Nonce: "n-b", Claim: claim})
		sub := listen(t, r, b.keys.Own())
		a.release(t, "1", lua.Order{})
		sub.want(t, b.keys.Own(), "n-b")
		r.wantGranted(t, "b: 1 2 \n3")
	})
}

// An entry that nobody of ours has written, or that Redis cannot carry out, is no grant.
func TestGarbageIsNotGranted(t *testing.T) {
	now, never := decimal(time.Now().UnixMicro()), decimal(time.Now().Add(time.Hour).UnixMicro())
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		sub := listen(t, r, b.keys.Own(), a.keys.Channel())
		for _, entry := range []string{
			"", "x", "n-b", "n-b " + now, "n-b x 30000 0 b:1", "n-b " + now + " x 0 b:1", "n-b " + now + " 30000 2 b:1",
			"n-b " + now + " 30000 0 ", "n-b " + now + " 30000 b:1", "n-b -1 30000 0 b:1", "n-b " + now + " 0 0 b:1",
			"n-b " + never + " 30000 0 b:1", // the clock was set back
			"n-b " + now + " " + strings.Repeat("9", 30) + " 0 b:1",
		} {
			a.acquire(t, lua.Acquire{Owner: "1", AfterRedisson: true})
			b.expect(t, "n-b")
			r.rdb.HSet(t.Context(), a.keys.Grants(), "b", entry)
			wantVerdict(t, entry, first(a.release(t, "1", lua.Order{})), lua.Done)
			r.wantWoken(t, sub, b)
			r.wantWaiting(t)
			r.rdb.Del(t.Context(), a.keys.Turn())
		}
	})
}

// A foreign key at the grants' or the counter's name does not keep a release from waking the waiter.
func TestGrantBesideForeign(t *testing.T) {
	k := lua.KeysOf(name, "")
	for what, key := range map[string]string{"grants": k.Grants(), "token": k.Token()} {
		t.Run(what, func(t *testing.T) {
			onBoth(t, func(t *testing.T, r *rig) {
				a, b := r.client("a"), r.client("b")
				a.take(t, 0)
				b.register(t, lua.Acquire{Nonce: "n-b", Claim: claim, Fencing: true})
				r.rdb.Del(t.Context(), key)
				r.foreign(t, key, "RPUSH", key, "x", "y")
				before := r.snapshot(t)[key]
				sub := listen(t, r, b.keys.Own(), a.keys.Channel())
				a.releaseFenced(t, "1")
				r.wantWoken(t, sub, b)
				if after := r.snapshot(t)[key]; after != before {
					t.Fatalf("%q was %v, is %v", key, before, after)
				}
			})
		})
	}
}

// Whoever frees the lock may lack a right that the grant needs. The lock is free all the same, no key is without
// a TTL, and no field is left of a grant that nobody has heard of.
func TestGrantByAUserWithoutRights(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, r *rig) {
		for _, without := range [][]string{
			{"publish"}, {"pexpire"}, {"hset"}, {"hget"}, {"zpopmin"}, {"pubsub"}, {"set"}, {"del"},
			{"publish", "del"}, {"pexpire", "del"}, {"publish", "hdel"}, {"pexpire", "hdel"}, {"pexpire", "publish"},
		} {
			r.real.Do(t, "FLUSHALL")
			r.withoutRights(t, without)
		}
		r.real.Do(t, "FLUSHALL")
	})
}

// withoutRights has such a user free the lock of a, which b waits for.
func (r *rig) withoutRights(t *testing.T, without []string) {
	t.Helper()
	rules := []string{"~*", "&*", "+@all"}
	for _, command := range without {
		rules = append(rules, "-"+command)
	}
	u, b := r.as(t, "a", rules...), r.client("b")
	r.client("a").acquire(t, lua.Acquire{Owner: "1"})
	b.expect(t, "n-b")
	sub := listen(t, r, b.keys.Own())
	if slices.Contains(without, "hdel") {
		u.force(t) // this user cannot release
	} else {
		v, _, err := lua.Release{Owner: "a:1", Order: u.next(), Wake: u.wake}.Run(t.Context(), u.p, &u.keys)
		if err != nil || v != lua.Done {
			t.Errorf("without %v: release: %d, %v", without, v, err)
		}
	}
	r.rdb.Publish(t.Context(), b.keys.Own(), "end")
	heard := sub.next(t).Payload
	fields := r.rdb.HGetAll(t.Context(), name).Val()
	granted := maps.Equal(fields, map[string]string{"b:1": "1"})
	if granted != (heard == "n-b") || !granted && len(fields) > 0 {
		t.Errorf("without %v: b has heard %q, the lock is %v", without, heard, fields)
	}
	r.wantTidy(t)
}

// A full Redis may refuse the grant's field, and must not refuse the release: either b is told of a grant, or b
// is told to ask.
func TestGrantWhenFull(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, r *rig) {
		a, _, _, sub := r.expecting(t)
		r.full(t)
		wantVerdict(t, "release", first(a.release(t, "1", a.marked())), lua.Done)
		if sub.next(t).Payload == "n-b" {
			r.wantGranted(t, "b:1", "c")
			return
		}
		sub.want(t, a.keys.Channel(), "-0")
		r.wantFree(t)
	})
}
