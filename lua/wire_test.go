package lua_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/lua"
)

var errWire = errors.New("the wire is cut")

// wire keeps what is sent and answers nothing.
type wire struct {
	sent []redis.Cmder
}

func (w *wire) Process(_ context.Context, cmd redis.Cmder) error {
	w.sent = append(w.sent, cmd)
	cmd.SetErr(errWire)
	return errWire
}

// What each command puts on the wire behind the script: keys, then arguments, in
// the order that the script documents.
func TestCommandLines(t *testing.T) {
	k := lua.KeysOf("l", "c")
	order := lua.Order{Number: 7, Epoch: 9 * time.Second}
	wake := lua.NewWake("SPUBLISH", 50*time.Millisecond, 10*time.Millisecond, true)
	ctx := t.Context()
	for want, run := range map[string]func(p lua.Processor) error{
		"5 l redlatch_epoch:{l}:c redlatch_turn:{l} redlatch_waiters:{l} redlatch_epoch:{l}:grants o 2 7 9000 c 3000 5 1 nonce 2000 p q": func(p lua.Processor) error {
			// A lease is rounded up: it must not end before its holder thinks.
			a := lua.Acquire{Owner: "o", Lease: time.Millisecond + 1, Order: order, Client: "c", Register: 3 * time.Second, Since: 5, AfterRedisson: true}
			a.Nonce, a.Claim, a.Departed = "nonce", 2*time.Second, []string{"p", "q"}
			_, err := a.Run(ctx, p, &k)
			return err
		},
		"6 l redlatch_epoch:{l}:c redlatch_turn:{l} redlatch_waiters:{l} redlatch_epoch:{l}:grants redisson_lock_token:{l} o 1 7 0 c 0 -1 0  0": func(p lua.Processor) error {
			_, err := lua.Acquire{Owner: "o", Lease: 1, Order: lua.Order{Number: 7}, Client: "c", Since: lua.MaybeRegistered, Fencing: true}.Run(ctx, p, &k)
			return err
		},
		"3 l redlatch_epoch:{l}:c redlatch_turn:{l} o 1 7 0": func(p lua.Processor) error {
			_, err := lua.Acquire{Owner: "o", Lease: 1, Order: lua.Order{Number: 7}, Client: "c"}.Run(ctx, p, &k)
			return err
		},
		"2 l redlatch_epoch:{l}:c o 3 0 7 9000": func(p lua.Processor) error {
			_, err := lua.Count{Owner: "o", Count: 3, Order: order}.Run(ctx, p, &k)
			return err
		},
		"6 l redlatch_epoch:{l}:c redlatch_turn:{l} redlatch_waiters:{l} redlatch_epoch:{l}:grants redisson_lock_token:{l} o 7 0 redisson_lock__channel:{l} PUBLISH 0 0 0": func(p lua.Processor) error {
			_, _, err := lua.Release{Owner: "o", Order: lua.Order{Number: 7}, Fencing: true, Wake: lua.NewWake("PUBLISH", 0, 0, false)}.Run(ctx, p, &k)
			return err
		},
		"5 l redlatch_epoch:{l}:c redlatch_turn:{l} redlatch_waiters:{l} redlatch_epoch:{l}:grants o 7 9000 redisson_lock__channel:{l} SPUBLISH 50 10 1": func(p lua.Processor) error {
			_, _, err := lua.Release{Owner: "o", Order: order, Wake: wake}.Run(ctx, p, &k)
			return err
		},
		"3 l redlatch_epoch:{l}:c redlatch_waiters:{l} o n 1000 7 9000 redisson_lock__channel:{l} SPUBLISH 50 10 1": func(p lua.Processor) error {
			_, err := lua.Transfer{From: "o", To: "n", Lease: time.Second, Order: order, Wake: wake}.Run(ctx, p, &k)
			return err
		},
		"4 l redlatch_epoch:{l}:c redlatch_waiters:{l} redisson_lock_token:{l} o n 1000 7 9000 redisson_lock__channel:{l} PUBLISH 0 0 0": func(p lua.Processor) error {
			_, err := lua.Transfer{From: "o", To: "n", Lease: time.Second, Order: order, Fencing: true, Wake: lua.NewWake("PUBLISH", 0, 0, false)}.Run(ctx, p, &k)
			return err
		},
		"2 l m 1000 o  p q": func(p lua.Processor) error {
			_, err := lua.Renew(ctx, p, []lua.FieldOwner{{Lock: "l", Owner: "o"}, {Lock: "m", Owner: "p", Next: "q"}}, time.Second)
			return err
		},
		"5 l redlatch_epoch:{l}:c redlatch_turn:{l} redlatch_waiters:{l} redlatch_epoch:{l}:grants c 7 9000 redisson_lock__channel:{l} SPUBLISH 50 10 1 o p": func(p lua.Processor) error {
			_, err := lua.Leave{Client: "c", Owners: []string{"o", "p"}, Order: order, Wake: wake}.Run(ctx, p, &k)
			return err
		},
		"4 l redlatch_turn:{l} redlatch_waiters:{l} redlatch_epoch:{l}:grants redisson_lock__channel:{l} PUBLISH 0 0 0": func(p lua.Processor) error {
			_, err := lua.Force(ctx, p, &k, lua.NewWake("PUBLISH", 0, 0, false), "")
			return err
		},
		"3 l redlatch_epoch:{l}:c redlatch_waiters:{l} o n 1001 7 9000 redisson_lock__channel:{l} SPUBLISH 50 10 1": func(p lua.Processor) error {
			_, _, err := lua.Linger{Owner: "o", Nobody: "n", While: time.Second + 1, Order: order, Wake: wake}.Run(ctx, p, &k)
			return err
		},
		"2 l redlatch_waiters:{l} redisson_lock__channel:{l} SPUBLISH 50 10 1": func(p lua.Processor) error {
			_, err := lua.ReadReport(ctx, p, &k, wake, false)
			return err
		},
		"3 l redlatch_waiters:{l} redisson_lock_token:{l} redisson_lock__channel:{l} PUBLISH 0 0 0": func(p lua.Processor) error {
			_, err := lua.ReadReport(ctx, p, &k, lua.NewWake("PUBLISH", 0, 0, false), true)
			return err
		},
		"1 l o": func(p lua.Processor) error {
			_, err := lua.Inspect(ctx, p, &k, "o")
			return err
		},
	} {
		w := &wire{}
		if err := run(w); !errors.Is(err, errWire) || len(w.sent) != 1 {
			t.Fatalf("%d commands, %v", len(w.sent), err)
		}
		cmd := w.sent[0]
		args := cmd.Args()
		if got := strings.TrimSuffix(fmt.Sprintln(args[2:]...), "\n"); args[0] != "evalsha" || got != want {
			t.Errorf("%v\n\t%s\n\t%s", args[0], got, want)
		}
		if !cmd.NoRetry() {
			t.Errorf("%s: go-redis may resend it", want)
		}
	}
}
