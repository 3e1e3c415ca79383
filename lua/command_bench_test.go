package lua_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/lua"
)

// answers is a Processor that answers every command alike, at once: what is
// measured is the making of a command and the reading of its reply.
type answers struct{ reply any }

func (a answers) Process(_ context.Context, cmd redis.Cmder) error {
	cmd.(interface{ SetVal(any) }).SetVal(a.reply)
	return nil
}

var yes = answers{[]any{int64(1), int64(1)}}

const benchOwner = "6e9a1fd0-6f0d-4f6a-9d4b-0c1f6e2a7b11:42"

func BenchmarkAcquire(b *testing.B) {
	keys := lua.KeysOf(name, "client")
	a := lua.Acquire{Owner: benchOwner, Lease: lease, Client: "client", Order: lua.Order{Number: 1 << 40}}
	b.ReportAllocs()
	for b.Loop() {
		if g, err := a.Run(b.Context(), yes, &keys); err != nil || g.Verdict != lua.Done {
			b.Fatal(g, err)
		}
	}
}

func BenchmarkTransfer(b *testing.B) {
	keys := lua.KeysOf(name, "client")
	t := lua.Transfer{From: benchOwner, To: benchOwner + "0", Lease: lease, Order: lua.Order{Number: 1 << 40}, Wake: lua.NewWake("PUBLISH", 0, 0, true)}
	b.ReportAllocs()
	for b.Loop() {
		if g, err := t.Run(b.Context(), yes, &keys); err != nil || g.Verdict != lua.Done {
			b.Fatal(g, err)
		}
	}
}

func BenchmarkRelease(b *testing.B) {
	keys := lua.KeysOf(name, "client")
	r := lua.Release{Owner: benchOwner, Order: lua.Order{Number: 1 << 40}, Wake: lua.NewWake("PUBLISH", 0, 0, true)}
	b.ReportAllocs()
	for b.Loop() {
		if v, _, err := r.Run(b.Context(), yes, &keys); err != nil || v != lua.Done {
			b.Fatal(v, err)
		}
	}
}

// BenchmarkRenew500 is one batch of the watchdog's.
func BenchmarkRenew500(b *testing.B) {
	const batch = 500
	var fields []lua.FieldOwner
	var reply []any
	for i := range batch {
		fields = append(fields, lua.FieldOwner{Lock: fmt.Sprintf("%s:%d", name, i), Owner: benchOwner})
		reply = append(reply, int64(1))
	}
	b.ReportAllocs()
	for b.Loop() {
		if r, err := lua.Renew(b.Context(), answers{reply}, fields, lease); err != nil || r[batch-1] != lua.Renewed {
			b.Fatal(r, err)
		}
	}
}
