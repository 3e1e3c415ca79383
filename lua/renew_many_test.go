package lua_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/lua"
)

// pipelines counts what goes out in pipelines, and can lose one of their commands.
type pipelines struct {
	sizes []int
	lose  int // of the first pipeline, from 1
}

var errLost = errors.New("connection lost")

func (p *pipelines) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}
func (p *pipelines) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (p *pipelines) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if strings.HasPrefix(strings.ToLower(cmds[0].Name()), "eval") {
			p.sizes = append(p.sizes, len(cmds))
			if p.lose > 0 {
				cmds[p.lose-1].SetErr(errLost)
				cmds = append(cmds[:p.lose-1:p.lose-1], cmds[p.lose:]...)
				p.lose = 0
			}
		}
		return next(ctx, cmds)
	}
}

// many makes n locks, of which every tenth is somebody else's.
func many(t *testing.T, r *rig, n int) []lua.FieldOwner {
	t.Helper()
	fields := make([]lua.FieldOwner, n)
	for i := range fields {
		fields[i] = lua.FieldOwner{Lock: fmt.Sprintf("{x}many:%d", i), Owner: "a:1"}
		owner := "a:1"
		if i%10 == 0 {
			owner = "b:1"
		}
		r.foreign(t, fields[i].Lock, "HSET", fields[i].Lock, owner, "1")
	}
	return fields
}

func wantMany(t *testing.T, got []lua.Renewal, want func(i int) lua.Renewal) {
	t.Helper()
	for i := range got {
		if got[i] != want(i) {
			t.Fatalf("lock %d: %v, want %v", i, got[i], want(i))
		}
	}
}

// Many locks are renewed by scripts of 500, in one round trip, also when Redis does not know the script.
func TestRenewManyTogether(t *testing.T) {
	onReal(t, func(t *testing.T, r *rig) { // miniredis looks at all keys at each command
		fields := many(t, r, 1700)
		every10th := func(i int) lua.Renewal {
			if i%10 == 0 {
				return lua.NotOwner
			}
			return lua.Renewed
		}
		for _, p := range []struct {
			name string
			lua.Processor
			want string
		}{
			{"unknown script", r.rdb, "[4 4]"}, // EVALSHA, then EVAL
			{"known script", r.rdb, "[4]"},
			{"no pipelines", struct{ lua.Processor }{r.rdb}, "[]"},
		} {
			t.Run(p.name, func(t *testing.T) {
				if strings.HasPrefix(p.name, "unknown") {
					r.rdb.ScriptFlush(t.Context())
				}
				seen := &pipelines{}
				r.rdb.AddHook(seen)
				got, err := lua.Renew(t.Context(), p.Processor, fields, time.Hour)
				if err != nil || len(got) != len(fields) {
					t.Fatal(len(got), err)
				}
				wantMany(t, got, every10th)
				r.wantTTL(t, fields[1699].Lock, time.Hour)
				if sizes := fmt.Sprint(seen.sizes); sizes != p.want {
					t.Errorf("pipelines of %s commands, want %s", sizes, p.want)
				}
			})
		}
	})
}

// The connection breaks under one of the scripts: its locks are Refused, the others have their answers.
func TestRenewManyInPart(t *testing.T) {
	onReal(t, func(t *testing.T, r *rig) { // miniredis looks at all keys at each command
		fields := many(t, r, 1700)
		if _, err := lua.Renew(t.Context(), r.rdb, fields[:1], time.Hour); err != nil {
			t.Fatal(err)
		}
		r.rdb.AddHook(&pipelines{lose: 2})
		got, err := lua.Renew(t.Context(), r.rdb, fields, time.Hour)
		if !errors.Is(err, errLost) || len(got) != len(fields) {
			t.Fatal(len(got), err)
		}
		wantMany(t, got, func(i int) lua.Renewal {
			switch {
			case i >= 500 && i < 1000:
				return lua.Refused
			case i%10 == 0:
				return lua.NotOwner
			}
			return lua.Renewed
		})
	})
}
