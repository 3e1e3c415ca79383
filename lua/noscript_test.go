package lua_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/lua"
)

// SCRIPT FLUSH, a restart or a failover between any two commands is not noticed.
func TestScriptsForgotten(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a, b := r.client("a"), r.client("b")
		flush := func() {
			if err := r.rdb.ScriptFlush(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 { // unknown at first, then forgotten
			flush()
			wantVerdict(t, "acquire", a.acquire(t, lua.Acquire{Owner: "1"}).Verdict, lua.Done)
			flush()
			wantVerdict(t, "busy", b.acquire(t, lua.Acquire{Owner: "1", Register: lease}).Verdict, lua.Busy)
			flush()
			wantVerdict(t, "count", a.count(t, lua.Count{Owner: "1", Count: 2}).Verdict, lua.Done)
			flush()
			if got := a.renew(t, "1", lease); got != lua.Renewed {
				t.Fatalf("renew: %d", got)
			}
			flush()
			wantVerdict(t, "transfer", a.transfer(t, lua.Transfer{From: "1", To: "2"}).Verdict, lua.Done)
			flush()
			if got := a.inspect(t, "2"); got.Count != 1 {
				t.Fatalf("inspect: %+v", got)
			}
			flush()
			wantVerdict(t, "release", first(a.release(t, "2", lua.Order{})), lua.Done)
			flush()
			b.leave(t)
			flush()
			if a.force(t) {
				t.Fatal("force: it was free")
			}
		}
	})
}

// spy notes the names of the commands that go through it.
type spy struct {
	lua.Processor
	names []string
}

func (s *spy) Process(ctx context.Context, cmd redis.Cmder) error {
	s.names = append(s.names, cmd.Name())
	if !cmd.NoRetry() {
		s.names = append(s.names, "with retries")
	}
	return s.Processor.Process(ctx, cmd)
}

// The text of a script travels once, and only after NOSCRIPT: that error alone
// makes certain that nothing has run.
func TestEvalOnlyAfterNoscript(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		s := &spy{Processor: r.rdb}
		a.p = s
		a.acquire(t, lua.Acquire{Owner: "1"})
		a.acquire(t, lua.Acquire{Owner: "1"})
		if want := []string{"evalsha", "eval", "evalsha"}; !slices.Equal(s.names, want) {
			t.Fatalf("%v, want %v", s.names, want)
		}
		s.names = nil
		r.foreign(t, "x", "SET", "x", "y")
		k := lua.KeysOf("x", "a")
		for range 2 {
			if _, err := a.fill(lua.Acquire{Owner: "1"}).Run(t.Context(), s, &k); err == nil {
				t.Fatal("granted")
			}
		}
		s.Processor = &wire{}
		if _, err := a.fill(lua.Acquire{Owner: "1"}).Run(t.Context(), s, &k); !errors.Is(err, errWire) {
			t.Fatal(err)
		}
		if want := []string{"evalsha", "evalsha", "evalsha"}; !slices.Equal(s.names, want) {
			t.Fatalf("after other errors: %v", s.names)
		}
	})
}
