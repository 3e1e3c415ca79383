package lua_test

import (
	"strings"
	"testing"

	"github.com/redlatch/redlatch/lua"
)

// Whatever command of the scripts a user may not run, no lock and no registry is left without
// a TTL; nor if the user may not run PEXPIRE and one more. A lock is not even then when
// neither HDEL nor one of DEL and SET is allowed.
func TestFault33NoKeyWithoutTTL(t *testing.T) {
	commands := []string{
		"exists", "del", "get", "set", "pttl", "pexpire", "time", "hget", "hset", "hdel", "hexists", "hlen", "hkeys",
		"hmget", "zadd", "zrem", "zpopmin", "zcard", "zscore", "zrank", "zrange", "publish", "spublish", "pubsub",
	}
	missing := [][]string{{"pexpire", "hdel", "del"}, {"pexpire", "hdel", "set"}}
	for _, one := range commands {
		missing = append(missing, []string{one}, []string{"pexpire", one})
	}
	t.Parallel()
	onReal(t, func(t *testing.T, r *rig) {
		for _, without := range missing {
			rules := []string{"~*", "&*", "+@all"}
			for _, command := range without {
				rules = append(rules, "-"+command)
			}
			r.real.Do(t, "FLUSHALL")
			r.wantTTLs(t, strings.Join(without, ", "), r.as(t, "a", rules...))
		}
		r.real.Do(t, "FLUSHALL")
	})
}

// wantTTLs sends every command as a, on a free lock, its own and another's, and looks for keys
// without a TTL after each.
func (r *rig) wantTTLs(t *testing.T, without string, a *client) {
	t.Helper()
	ctx := t.Context()
	for _, holder := range []string{"", "a:1", "b:1"} {
		for _, order := range []lua.Order{a.next(), a.marked()} {
			for what, command := range map[string]func() error{
				"acquire": func() error {
					_, err := a.fill(lua.Acquire{Owner: "1", Register: lease, Nonce: "n", Claim: lease, Order: order}).Run(ctx, a.p, &a.keys)
					return err
				},
				"count": func() error {
					_, err := lua.Count{Owner: "a:1", Count: 2, Lease: 2 * lease, Order: order}.Run(ctx, a.p, &a.keys)
					return err
				},
				"transfer": func() error {
					_, err := lua.Transfer{From: "a:1", To: "a:2", Lease: lease, Order: order, Wake: a.wake}.Run(ctx, a.p, &a.keys)
					return err
				},
				"release": func() error {
					_, _, err := lua.Release{Owner: "a:1", Order: order, Wake: a.wake}.Run(ctx, a.p, &a.keys)
					return err
				},
				"linger": func() error {
					_, _, err := lua.Linger{Owner: "a:1", Nobody: "a:=nobody", While: lease, Order: order, Wake: a.wake}.Run(ctx, a.p, &a.keys)
					return err
				},
				"renew": func() error {
					_, err := lua.Renew(ctx, a.p, []lua.FieldOwner{{Lock: name, Owner: "a:1"}}, 2*lease)
					return err
				},
				"leave": func() error { return leave(ctx, a, a.p) },
				"force": func() error {
					_, err := lua.Force(ctx, a.p, &a.keys, a.wake, "")
					return err
				},
			} {
				r.rdb.Del(ctx, name, a.keys.Turn(), a.keys.Waiters())
				if holder != "" {
					r.rdb.HSet(ctx, name, holder, "1")
					r.rdb.PExpire(ctx, name, lease)
				}
				if err := command(); lua.Unknown(err) {
					t.Fatal(err)
				}
				for _, key := range r.rdb.Keys(ctx, "*").Val() {
					if r.rdb.PTTL(ctx, key).Val() == -1 {
						t.Errorf("without %s, held by %q, %s: %s has no TTL", without, holder, what, key)
					}
				}
			}
		}
	}
}
