package lua_test

import (
	"regexp"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/lua"
)

// A server that does not take writes says so at once: nothing has happened, and
// it may be worth another try.
func TestServerRefusesWrites(t *testing.T) {
	for code, setting := range map[string][]any{
		"READONLY":   {"REPLICAOF", "127.0.0.1", 1}, // a master that is not there
		"NOREPLICAS": {"CONFIG", "SET", "min-replicas-to-write", 1},
	} {
		t.Run(code, func(t *testing.T) {
			if code == "NOREPLICAS" {
				redistest.Needs(t, "6.2.7", "a check of min-replicas-to-write in scripts")
			}
			t.Parallel()
			onReal(t, func(t *testing.T, r *rig) {
				a := r.client("a")
				a.acquire(t, lua.Acquire{Owner: "1"})
				r.real.Do(t, setting...)
				r.unchanged(t, func() { r.wantRefusals(t, a, code) })
				if got := a.inspect(t, "1"); !got.Held || got.Count != 1 {
					t.Fatalf("inspect: %+v", got)
				}
			})
		})
	}
}

// hasCode reports whether Redis answered with the code, to a script or to a command in it.
// Before Redis 7.0 the latter does not come first.
func hasCode(t *testing.T, err error, code string) bool {
	t.Helper()
	if redis.HasErrorPrefix(err, code) {
		return true
	}
	inScript := regexp.MustCompile(`^ERR Error running script \(call to f_[0-9a-f]{40}\): @user_script:\d+: @user_script: \d+: -` + code + " ")
	return err != nil && !redistest.AtLeast(t, "7.0") && inScript.MatchString(err.Error())
}

func (r *rig) wantRefusals(t *testing.T, a *client, code string) {
	t.Helper()
	ctx := t.Context()
	want := func(what string, err error) {
		t.Helper()
		if !hasCode(t, err, code) || lua.Unknown(err) || !lua.Retryable(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, order := range []lua.Order{a.next(), a.marked()} {
		_, err := a.fill(lua.Acquire{Owner: "1", Order: order}).Run(ctx, r.rdb, &a.keys)
		want("acquire", err)
		_, err = lua.Count{Owner: "a:1", Count: 2, Order: order}.Run(ctx, r.rdb, &a.keys)
		want("count", err)
		_, err = lua.Transfer{From: "a:1", To: "a:2", Lease: lease, Order: order}.Run(ctx, r.rdb, &a.keys)
		want("transfer", err)
		_, _, err = lua.Release{Owner: "a:1", Order: order, Wake: a.wake}.Run(ctx, r.rdb, &a.keys)
		want("release", err)
		_, _, err = lua.Linger{Owner: "a:1", Nobody: "a:=nobody", While: lease, Order: order, Wake: a.wake}.Run(ctx, r.rdb, &a.keys)
		want("linger", err)
	}
	_, err := lua.Force(ctx, r.rdb, &a.keys, a.wake, "")
	want("force", err)
	all, err := lua.Renew(ctx, r.rdb, []lua.FieldOwner{{Lock: name, Owner: "a:1"}}, 2*lease)
	if err == nil || len(all) != 1 || all[0] != lua.Refused {
		t.Errorf("renew: %v, %v", all, err)
	}
}
