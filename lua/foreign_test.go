package lua_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/lua"
)

// wantForeign wants the error that tells a caller that a key is not ours.
func wantForeign(t *testing.T, what string, err error) {
	t.Helper()
	if !lua.ForeignKey(err) || lua.Retryable(err) || lua.Unknown(err) {
		t.Errorf("%s: %v", what, err)
	}
}

// Somebody else's key at the lock's name is reported and stays as it is, by every
// script and whatever else the command asks for.
func TestForeignLock(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		ctx := t.Context()
		r.foreign(t, name, "RPUSH", name, "x", "y")
		r.unchanged(t, func() {
			for _, order := range []lua.Order{a.next(), a.marked()} {
				_, err := a.fill(lua.Acquire{Owner: "1", Register: lease, Fencing: true, Order: order}).Run(ctx, r.rdb, &a.keys)
				wantForeign(t, "acquire", err)
				_, err = lua.Count{Owner: "a:1", Count: 2, Lease: lease, Order: order}.Run(ctx, r.rdb, &a.keys)
				wantForeign(t, "count", err)
				_, _, err = lua.Release{Owner: "a:1", Order: order, Wake: a.wake}.Run(ctx, r.rdb, &a.keys)
				wantForeign(t, "release", err)
				_, _, err = lua.Linger{Owner: "a:1", Nobody: "a:=nobody", While: lease, Order: order, Wake: a.wake}.Run(ctx, r.rdb, &a.keys)
				wantForeign(t, "linger", err)
				_, err = lua.Transfer{From: "a:1", To: "a:2", Lease: lease, Fencing: true, Order: order}.Run(ctx, r.rdb, &a.keys)
				wantForeign(t, "transfer", err)
			}
			_, err := lua.Force(ctx, r.rdb, &a.keys, a.wake, "")
			wantForeign(t, "force", err)
			_, err = lua.Inspect(ctx, r.rdb, &a.keys, "a:1")
			wantForeign(t, "inspect", err)
			_, err = lua.ReadReport(ctx, r.rdb, &a.keys, a.wake, true)
			wantForeign(t, "report", err)
			if got := a.renew(t, "1", time.Hour); got != lua.NotOwner {
				t.Errorf("renew: %d", got)
			}
			a.leave(t) // concerns the registry only
		})
	})
}

// The same at the keys beside the lock. What fails has changed nothing; what does
// not need the key goes on without it.
func TestForeignBeside(t *testing.T) {
	k := lua.KeysOf(name, "a")
	for what, key := range map[string]string{
		"epoch": k.Epoch(), "turn": k.Turn(), "waiters": k.Waiters(), "token": k.Token(), "grants": k.Grants(),
	} {
		t.Run(what, func(t *testing.T) {
			onBoth(t, func(t *testing.T, r *rig) {
				a := r.client("a")
				r.foreign(t, key, "RPUSH", key, "x", "y")
				before := r.snapshot(t)[key]
				for _, order := range []lua.Order{{}, {Number: 1000, Epoch: lease}} {
					r.everyCommand(t, a, order)
				}
				if after := r.snapshot(t)[key]; after != before {
					t.Fatalf("%q was %v, is %v", key, before, after)
				}
			})
		})
	}
}

// everyCommand sends every command on a free lock, a lock of the client's and a
// lock of another's, and takes every answer. After each a lock must have a TTL.
func (r *rig) everyCommand(t *testing.T, a *client, order lua.Order) {
	t.Helper()
	ctx := t.Context()
	order = a.order(order)
	commands := []func() error{
		func() error {
			_, err := a.fill(lua.Acquire{Owner: "1", Register: lease, Fencing: true, Order: order}).Run(ctx, r.rdb, &a.keys)
			return err
		},
		func() error {
			_, err := lua.Count{Owner: "a:1", Count: 2, Lease: time.Hour, Order: order}.Run(ctx, r.rdb, &a.keys)
			return err
		},
		func() error {
			_, err := lua.Transfer{From: "a:1", To: "a:2", Lease: lease, Fencing: true, Order: order}.Run(ctx, r.rdb, &a.keys)
			return err
		},
		func() error {
			_, _, err := lua.Release{Owner: "a:1", Order: order, Wake: a.wake}.Run(ctx, r.rdb, &a.keys)
			return err
		},
		func() error {
			_, _, err := lua.Linger{Owner: "a:1", Nobody: "a:=nobody", While: lease, Order: order, Wake: a.wake}.Run(ctx, r.rdb, &a.keys)
			return err
		},
		func() error {
			_, err := lua.ReadReport(ctx, r.rdb, &a.keys, a.wake, true)
			return err
		},
		func() error { return leave(ctx, a, r.rdb) },
		func() error {
			_, err := lua.Force(ctx, r.rdb, &a.keys, a.wake, "")
			return err
		},
	}
	for _, holder := range []string{"", "a:1", "b:1"} {
		for i, command := range commands {
			r.rdb.Del(ctx, name)
			if holder != "" {
				r.rdb.HSet(ctx, name, holder, "1")
				r.rdb.PExpire(ctx, name, lease)
			}
			if err := command(); err != nil {
				wantForeign(t, "command", err)
			}
			if got := r.rdb.PTTL(ctx, name).Val(); got == -1 {
				t.Errorf("command %d, held by %q: a lock without a TTL", i, holder)
			}
			if got := r.rdb.HGetAll(ctx, name).Val(); len(got) > 1 {
				t.Errorf("command %d, held by %q: %v", i, holder, got)
			}
		}
	}
	r.rdb.Del(ctx, name)
}

// Once the lock is handed over, nothing may turn the answer into an error.
func TestTransferBesideForeign(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		a.acquire(t, lua.Acquire{Owner: "1"})
		r.foreign(t, a.keys.Waiters(), "RPUSH", a.keys.Waiters(), "x", "y")
		if g := a.transfer(t, lua.Transfer{From: "1", To: "2"}); g != (lua.Granted{Verdict: lua.Done}) {
			t.Fatalf("%+v", g)
		}
		r.wantHeld(t, "a:2", "1")
	})
}

// A release must free the lock whatever has become of the keys beside it.
func TestReleaseBesideForeign(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		a.acquire(t, lua.Acquire{Owner: "1"})
		r.foreign(t, a.keys.Waiters(), "RPUSH", a.keys.Waiters(), "x", "y")
		r.foreign(t, a.keys.Turn(), "RPUSH", a.keys.Turn(), "x", "y")
		sub := listen(t, r, a.keys.Channel())
		wantVerdict(t, "release", first(a.release(t, "1", lua.Order{})), lua.Done)
		r.wantFree(t)
		sub.want(t, a.keys.Channel(), "-0")
	})
}
