package lua_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/lua"
)

// processor is a Processor that is a function.
type processor func(ctx context.Context, cmd redis.Cmder) error

func (p processor) Process(ctx context.Context, cmd redis.Cmder) error { return p(ctx, cmd) }

// answered gives a command of lua.Renew for one lock a good reply.
func answered(cmd redis.Cmder) error {
	cmd.(interface{ SetVal(any) }).SetVal([]any{int64(1)})
	cmd.SetErr(nil)
	return nil
}

func renewOne(t *testing.T, p lua.Processor) (lua.Renewal, error) {
	r, err := lua.Renew(t.Context(), p, []lua.FieldOwner{{Lock: "l", Owner: "o"}}, time.Minute)
	if err != nil || len(r) != 1 {
		return lua.Refused, err
	}
	return r[0], nil
}

type refused struct{}

func (refused) Error() string { return "ERR no" }
func (refused) RedisError()   {}

// A command that is not answered in time has an unknown outcome, what it is answered later
// touches nothing, and only so many are left behind.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		hangs := processor(func(_ context.Context, cmd redis.Cmder) error {
			<-answer
			return answered(cmd)
		})
		const maxStrays = 64 // as is promised
		p := lua.Patient(hangs, time.Second)
		began := time.Now()
		for range maxStrays {
			_, err := renewOne(t, p)
			if !errors.Is(err, lua.ErrNoReply) || !lua.Unknown(err) || !lua.Retryable(err) {
				t.Fatalf("error is %v", err)
			}
		}
		if took := time.Since(began); took != maxStrays*time.Second {
			t.Errorf("%d commands took %v", maxStrays, took)
		}
		_, err := renewOne(t, p)
		if !errors.Is(err, redis.ErrPoolExhausted) || lua.Unknown(err) {
			t.Fatalf("error is %v", err)
		}
		close(answer)
		synctest.Wait()
		if r, err := renewOne(t, p); err != nil || r != lua.Renewed {
			t.Fatalf("%v, %v", r, err)
		}
	})
}

// What is answered in time is as without patience: replies, errors, and the panic of a hook on the
// caller's goroutine.
func TestPatienceInTime(t *testing.T) {
	for name, want := range map[string]error{"reply": nil, "error": refused{}, "lost": errors.New("EOF")} {
		t.Run(name, func(t *testing.T) {
			p := lua.Patient(processor(func(_ context.Context, cmd redis.Cmder) error {
				if want == nil {
					return answered(cmd)
				}
				cmd.SetErr(want)
				return want
			}), time.Minute)
			if r, err := renewOne(t, p); err != want || want == nil && r != lua.Renewed {
				t.Fatalf("%v, %v", r, err)
			}
		})
	}
	defer func() {
		if v := recover(); v != "a hook" {
			t.Errorf("recovered %v", v)
		}
	}()
	p := lua.Patient(processor(func(context.Context, redis.Cmder) error { panic("a hook") }), time.Minute)
	_, _ = renewOne(t, p)
}
