package redistest_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
)

// answer runs a script with one key and one argument and puts its reply, or its
// error, into words.
func answer(t *testing.T, rdb *redis.Client, script string) string {
	t.Helper()
	v, err := rdb.Eval(t.Context(), script, []string{"k"}, "12").Result()
	if err != nil {
		return "error: " + err.Error()
	}
	return fmt.Sprintf("%T %v", v, v)
}

// What lock scripts are made of, in an order in which each line finds what the
// ones before have left. miniredis must answer as Redis does.
var same = []string{
	// the hash that is the lock
	`return redis.call('HSET', KEYS[1], 'f', '1')`,
	`return redis.call('HGET', KEYS[1], 'f')`,
	`return redis.call('HGET', KEYS[1], 'none') == false`,
	`return redis.call('HINCRBY', KEYS[1], 'f', 2)`,
	`return redis.call('HEXISTS', KEYS[1], 'f')`,
	`return redis.call('HLEN', KEYS[1])`,
	`return redis.call('HGETALL', KEYS[1])`,
	`return redis.call('HKEYS', KEYS[1])`,
	`return redis.call('HMGET', KEYS[1], 'f', 'none')`,
	`return redis.call('HDEL', KEYS[1], 'none')`,
	`return redis.call('TYPE', KEYS[1]).ok`,
	// its time to live
	`return redis.call('PTTL', KEYS[1])`,
	`return redis.call('PTTL', 'none')`,
	`return redis.call('PEXPIRE', KEYS[1], 10000)`,
	`return redis.call('PEXPIRE', 'none', 10000)`,
	`local p = redis.call('PTTL', KEYS[1]) return p > 9000 and p <= 10000`,
	`return redis.pcall('PEXPIRE', KEYS[1], 'abc')`,
	`return redis.pcall('PEXPIRE', KEYS[1], '1.5').err`,
	`redis.call('DEL', KEYS[1]) redis.call('HSET', KEYS[1], 'f', '1') return redis.call('PTTL', KEYS[1])`,
	`return redis.call('PEXPIRE', KEYS[1], 0)`, // deletes, and calls it success
	`return redis.call('EXISTS', KEYS[1])`,
	`redis.call('SET', KEYS[1], 'v') return redis.call('PTTL', KEYS[1])`,
	`return redis.call('SET', KEYS[1], 'v', 'NX')`,
	// somebody else's key
	`return redis.pcall('HSET', KEYS[1], 'f', '1')`,
	`return redis.pcall('HSET', KEYS[1], 'f', '1').err`,
	`return redis.call('DEL', KEYS[1])`,
	// the queue of waiters
	`return redis.call('ZADD', 'z', 'NX', 2, 'b', 1, 'd', 1, 'c', 3, 'a')`,
	`return redis.call('ZADD', 'z', 'NX', 9, 'b')`,
	`return redis.call('ZSCORE', 'z', 'b')`,
	`return redis.call('ZSCORE', 'z', 'none')`,
	`redis.call('ZADD', 'z', 1760000000123456, 'us') return redis.call('ZSCORE', 'z', 'us')`,
	`return redis.call('ZRANGE', 'z', 0, 1)`,
	`return redis.call('ZRANGE', 'z', 0, -1, 'WITHSCORES')`,
	`return redis.call('ZRANGEBYSCORE', 'z', '-inf', '(2', 'LIMIT', 0, 1)`,
	`return redis.call('ZRANK', 'z', 'none')`,
	`return redis.call('ZPOPMIN', 'z')`,
	`return redis.call('ZPOPMIN', 'z', 2)`,
	`return #redis.call('ZPOPMIN', 'none')`,
	`return redis.call('ZREM', 'z', 'none')`,
	`return redis.call('ZREMRANGEBYSCORE', 'z', '-inf', 3)`,
	`return redis.call('ZCARD', 'z')`,
	// tokens and batches
	`return redis.call('INCR', 'token')`,
	`redis.call('SET', 'token', 1760000000123456) return redis.call('GET', 'token')`,
	`redis.call('SET', 'token', '9007199254740990') return redis.call('INCR', 'token')`,
	`redis.call('SET', 'token', '9223372036854775807') return redis.pcall('INCR', 'token')`,
	`redis.call('MSET', 'a', '1', 'b', '2') return redis.call('MGET', 'a', 'none', 'b')`,
	`local r = redis.call('MGET', 'a', 'none', 'b') return {#r, r[2] == false}`,
	`return redis.call('PUBLISH', 'nobody', '0')`,
	`local t = redis.call('TIME') return {type(t), #t, type(t[1]), type(t[2])}`,
	// how replies travel
	`return nil`, `return false`, `return true`, `return {}`, `return 1.9`, `return -1.9`, `return 2^53`,
	`return {1, nil, 3}`, // ends at the nil
	`return {1, false, 3}`,
	`return {err = 'MYCODE mine'}`,
	`return redis.error_reply('MYCODE mine')`,
	`return redis.status_reply('FINE')`,
	`return {KEYS[1], ARGV[1], #KEYS, #ARGV, tonumber(ARGV[1]), tonumber('x')}`,
	`return string.format('%.0f', 1760000000123456)`,
	`return string.format('%d', 1760000000123456)`,
	`return cjson.encode({1, 2})`,
}

func TestMiniAnswersAsRedis(t *testing.T) {
	t.Parallel()
	real := redistest.Start(t).Client(t)
	_, mini := redistest.Mini(t)
	for _, script := range same {
		want, got := answer(t, real, script), answer(t, mini, script)
		if got != want {
			t.Errorf("%s\n\tRedis: %s\n\tminiredis: %s", script, want, got)
		}
	}
}

// since is what Redis answers, by the version from which on it does.
type since map[string]string

// now is the answer of the servers that the tests run on.
func (s since) now(t *testing.T) string {
	for _, version := range slices.Backward(slices.Sorted(maps.Keys(s))) {
		if redistest.AtLeast(t, version) {
			return s[version]
		}
	}
	t.Fatalf("no answer of this version: %v", s)
	return ""
}

// Where miniredis differs from some version of Redis, so that nobody trusts it there. A line
// that fails means that one of the two has changed: see whether tests can now rely on more.
var different = []struct {
	script string
	redis  since // the answers contain these
	mini   string
}{
	// An error raised by redis.call, or by error{}, loses its code: Go cannot
	// tell a WRONGTYPE from any other. With pcall and return it keeps it. Before
	// Redis 7 it is no better there, but for the code at a place of its own.
	{`redis.call('SET', KEYS[1], 'x') return redis.call('HGET', KEYS[1], 'f')`,
		since{"5.0": "): @user_script:1: WRONGTYPE ", "7.0": "error: WRONGTYPE "},
		"error: ERR Error compiling script (new function): :1: WRONGTYPE"},
	{`error({err = 'MYCODE mine'})`,
		since{"5.0": "attempt to concatenate local 'err' (a table value)", "7.0": "error: MYCODE mine"},
		"error: ERR Error compiling script"},

	// From 1e14 on Redis' Lua writes numbers in scientific notation, and a key or
	// member made from one is wrong only on a real server.
	{`return tostring(1760000000123456)`, since{"5.0": "1.7600000001235e+15"}, "1760000000123456"},
	{`return 1760000000123456 .. ''`, since{"5.0": "1.7600000001235e+15"}, "1760000000123456"},
	{`redis.call('SET', KEYS[1], 123456789012345678) return redis.call('GET', KEYS[1])`,
		since{"5.0": "1.2345678901234568e+17", "7.2": "123456789012345680"}, "123456789012345680"},

	// A TTL that overflows is refused by one and taken by the other. miniredis
	// counts in 64 bits of nanoseconds: what is over 292 years wraps around, here
	// to something negative.
	{`return redis.call('PEXPIRE', KEYS[1], '9223372036854775807')`,
		since{"5.0": "int64 1", "6.2": "ERR invalid expire time in ", "7.0": "error: ERR invalid expire time in "}, "int64 1"},
	{`redis.call('SET', KEYS[1], 'x') redis.call('PEXPIRE', KEYS[1], '10000000000000') return redis.call('EXISTS', KEYS[1])`,
		since{"5.0": "int64 1"}, "int64 0"},

	// Refused in scripts by older ones.
	{`return redis.pcall('WAIT', 0, 0)`,
		since{"5.0": "This Redis command is not allowed", "7.2": "int64 0"}, "int64 0"},

	// Missing, here or there.
	{`return redis.pcall('SPUBLISH', 'c', '0')`,
		since{"5.0": "Unknown Redis command", "7.0": "int64 0"}, "error: ERR Unknown Redis command"},
	{"#!lua flags=allow-oom\nreturn 1", since{"5.0": "unexpected symbol near '#'", "7.0": "int64 1"}, "syntax error"},
	{`return type(bit.band) .. type(struct.pack) .. type(cmsgpack.pack)`,
		since{"5.0": "functionfunctionfunction"}, "error: "},
	{`redis.setresp(3) redis.call('HSET', 'h', 'a', '1') return redis.call('HGETALL', 'h')`,
		since{"5.0": "attempt to call field 'setresp'", "6.0": "map[a:1]"}, "[a 1]"},
	{`redis.call('SET', KEYS[1], 'v', 'PX', 60000) redis.call('SET', KEYS[1], 'w', 'KEEPTTL') return redis.call('PTTL', KEYS[1]) > 0`,
		since{"5.0": "ERR syntax error", "6.0": "int64 1"}, "int64 1"},
}

func TestMiniDiffersFromRedis(t *testing.T) {
	t.Parallel()
	real := redistest.Start(t).Client(t)
	_, mini := redistest.Mini(t)
	for _, d := range different {
		if got, want := answer(t, real, d.script), d.redis.now(t); !strings.Contains(got, want) {
			t.Errorf("%s\n\tRedis: %s\n\twant: %s", d.script, got, want)
		}
		if got := answer(t, mini, d.script); !strings.Contains(got, d.mini) {
			t.Errorf("%s\n\tminiredis: %s\n\twant: %s", d.script, got, d.mini)
		}
	}
	for _, cmd := range [][]any{
		{"SSUBSCRIBE", "c"}, {"ACL", "WHOAMI"}, {"CONFIG", "GET", "maxmemory-policy"}, {"ROLE"},
		{"INFO", "commandstats"}, {"CLIENT", "ID"}, {"CLIENT", "LIST"}, {"CLIENT", "KILL", "TYPE", "pubsub"},
		{"CLIENT", "PAUSE", 1}, {"DEBUG", "SLEEP", 0}, {"SCRIPT", "KILL"},
	} {
		if err := mini.Do(t.Context(), cmd...).Err(); err == nil {
			t.Errorf("miniredis has learned %v", cmd)
		}
	}
}

// The errors that Go code decides by are the same outside scripts.
func TestMiniErrorsOfEvalSha(t *testing.T) {
	t.Parallel()
	real := redistest.Start(t).Client(t)
	_, mini := redistest.Mini(t)
	for _, rdb := range []*redis.Client{real, mini} {
		ctx := t.Context()
		s := redis.NewScript(`return redis.call('PUBLISH', KEYS[1], ARGV[1])`)
		if err := s.EvalSha(ctx, rdb, []string{"c"}, "0").Err(); !redis.HasErrorPrefix(err, "NOSCRIPT") {
			t.Errorf("unknown script: %v", err)
		}
		sub := rdb.Subscribe(ctx, "c")
		defer sub.Close()
		if _, err := sub.Receive(ctx); err != nil {
			t.Fatal(err)
		}
		if n, err := s.Run(ctx, rdb, []string{"c"}, "-0").Int(); n != 1 || err != nil {
			t.Errorf("PUBLISH in a script reached %d, %v", n, err)
		}
		if msg, err := sub.ReceiveMessage(ctx); err != nil || msg.Payload != "-0" {
			t.Errorf("received %v, %v", msg, err)
		}
		if err := s.EvalSha(ctx, rdb, []string{"c"}, "0").Err(); err != nil {
			t.Errorf("known script: %v", err)
		}
		rdb.ScriptFlush(ctx)
		if err := s.EvalSha(ctx, rdb, []string{"c"}, "0").Err(); !redis.HasErrorPrefix(err, "NOSCRIPT") {
			t.Errorf("flushed script: %v", err)
		}
	}
}
