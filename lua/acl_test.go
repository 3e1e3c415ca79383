package lua_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/lua"
)

// as returns a client that is logged in as a user with these rules.
func (r *rig) as(t *testing.T, id string, rules ...string) *client {
	t.Helper()
	r.real.SetUser(t, "u", append([]string{"reset", "on", ">pw"}, rules...)...)
	c := r.client(id)
	c.p = r.real.Client(t, func(o *redis.Options) { o.Username, o.Password = "u", "pw" })
	return c
}

func wantRefused(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), redistest.RefusedInScript(t)) {
		t.Fatalf("%s: %v", what, err)
	}
}

// Without +pexpire nothing can be locked, and nothing is left locked for ever.
func TestUserWithoutPexpire(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, r *rig) {
		a := r.as(t, "a", "~*", "&*", "+@all", "-pexpire")
		ctx := t.Context()
		_, err := a.fill(lua.Acquire{Owner: "1"}).Run(ctx, a.p, &a.keys)
		wantRefused(t, "acquire", err)
		if lua.Unknown(err) || lua.Retryable(err) {
			t.Fatalf("%v: nothing is in doubt, and it will not get better", err)
		}
		r.wantFree(t)

		r.rdb.HSet(ctx, name, "a:1", "2")
		r.rdb.PExpire(ctx, name, lease)
		r.unchanged(t, func() {
			_, err = lua.Transfer{From: "a:1", To: "a:2", Lease: lease, Order: a.next()}.Run(ctx, a.p, &a.keys)
			wantRefused(t, "transfer", err)
			_, err = lua.Count{Owner: "a:1", Count: 3, Lease: time.Hour, Order: a.next()}.Run(ctx, a.p, &a.keys)
			wantRefused(t, "count", err)
			all, err := lua.Renew(ctx, a.p, []lua.FieldOwner{{Lock: name, Owner: "a:1"}}, time.Hour)
			wantRefused(t, "renew", err)
			if len(all) != 1 || all[0] != lua.Refused {
				t.Fatal(all)
			}
		})
		// What needs no PEXPIRE works: the way down must not be barred.
		wantVerdict(t, "count", a.count(t, lua.Count{Owner: "1", Count: 1}).Verdict, lua.Done)
		wantVerdict(t, "release", first(a.release(t, "1", lua.Order{})), lua.Done)
		r.wantFree(t)
	})
}

// A user that may not publish frees the lock all the same. Nobody is told, so
// nobody may keep the turn.
func TestUserWithoutPublish(t *testing.T) {
	for what, rules := range map[string][]string{
		"command": {"~*", "&*", "+@all", "-publish", "-spublish"},
		"channel": {"~*", "resetchannels", "+@all"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			onReal(t, func(t *testing.T, r *rig) {
				a, b, c := r.as(t, "a", rules...), r.client("b"), r.client("c")
				r.queue(t, a, b)
				sub := listen(t, r, b.keys.Own(), a.keys.Channel())
				wantVerdict(t, "release", first(a.release(t, "1", lua.Order{})), lua.Done)
				sub.wantNothing(t, r)
				wantVerdict(t, "acquire", c.acquire(t, lua.Acquire{Owner: "1"}).Verdict, lua.Done)
				if !a.force(t) {
					t.Fatal("force: nothing freed")
				}
				a.leave(t)
				r.wantFree(t)
			})
		})
	}
}

// A user that may touch the keys of one lock only, as [lua.KeysOf] lists them,
// can do everything with it: no script uses a key or a channel beside them. Redis
// logs what it refuses also where the script does not care.
func TestUserOfOneLock(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, r *rig) {
		k := lua.KeysOf(name, "a")
		rules := []string{"+@all", "resetchannels", "&" + k.Channel(), "&" + k.Listeners(), "&" + k.Own()}
		for _, key := range []string{k.Lock, k.Epoch(), k.Turn(), k.Waiters(), k.Token(), k.Grants()} {
			rules = append(rules, "~"+key)
		}
		a := r.as(t, "a", rules...)
		listen(t, r, k.Own())
		r.real.Do(t, "ACL", "LOG", "RESET")
		r.everyCommand(t, a, lua.Order{})
		r.everyCommand(t, a, a.marked())
		// Woken, given up, woken again, taken.
		r.client("b").acquire(t, lua.Acquire{Owner: "1"})
		a.wait(t, 0)
		a.force(t)
		a.leave(t)
		a.acquire(t, lua.Acquire{Owner: "1"})
		a.inspect(t, "1")
		a.renew(t, "1", time.Hour)
		if log := r.real.Do(t, "ACL", "LOG").([]any); len(log) != 0 {
			t.Fatalf("refused: %v", log)
		}
	})
}
