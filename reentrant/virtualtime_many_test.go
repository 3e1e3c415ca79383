package reentrant_test

import (
	"bytes"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/alicebob/miniredis/v2/server"
)

// Ten thousand locks cost one goroutine, and one command for each five hundred.
func TestTimeManyLocksOneWatchdog(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		const locks, batch, periods = 10_000, 500, 3
		// Every script is answered with a yes: what Redis makes of a batch is the
		// next test's, and ten thousand runs of Lua would take long.
		var scripts, renewed atomic.Int64
		v.mini.Server().SetPreHook(func(p *server.Peer, cmd string, args ...string) bool {
			if cmd != "EVALSHA" {
				return false
			}
			scripts.Add(1)
			keys, _ := strconv.Atoi(args[1])
			if len(args) != 2+keys+1+2*keys { // not: keys, lease, an owner and a next owner for each key
				p.WriteLen(2)
				p.WriteInt(1)
				p.WriteInt(0)
				return true
			}
			renewed.Add(int64(keys))
			p.WriteLen(keys)
			for range keys {
				p.WriteInt(1)
			}
			return true
		})
		c := v.client()
		for i := range locks {
			must(t, c.NewLock(strconv.Itoa(i)).Lock(v.ctx))
		}
		if got := ourGoroutines(); got != 1 {
			t.Fatalf("%d goroutines for %d locks, want the watchdog's", got, locks)
		}
		renewed.Store(0)
		for range periods {
			scripts.Store(0)
			v.pass(lease / 3)
			if n, want := scripts.Load(), int64((locks+batch-1)/batch); n != want {
				t.Fatalf("%d renewals sent in a period, want %d", n, want)
			}
		}
		if got := ourGoroutines(); got != 1 {
			t.Fatalf("%d goroutines after the renewals, want the watchdog's", got)
		}
		if s := c.Stats(); renewed.Load() != locks*periods || s.Renewals != locks*periods || s.Losses != 0 || s.Held != locks {
			t.Fatalf("%d renewed, stats %+v", renewed.Load(), s)
		}
	})
}

// ourGoroutines counts those that the library started and that are at rest.
func ourGoroutines() int {
	synctest.Wait()
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return bytes.Count(stacks, []byte("created by github.com/redlatch/redlatch/watchdog.")) +
		bytes.Count(stacks, []byte("created by github.com/redlatch/redlatch/pubsub.")) +
		bytes.Count(stacks, []byte("created by github.com/redlatch/redlatch/reentrant."))
}

// A batch renews each lock in it, the first and the last.
func TestTimeBatchRenewsEveryLock(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		const locks = 501 // one more than a batch
		c := v.client()
		for i := range locks {
			must(t, c.NewLock(strconv.Itoa(i)).Lock(v.ctx))
		}
		v.scripts()
		v.pass(lease / 3)
		if n := v.scripts(); n != 2 {
			t.Fatalf("%d renewals sent, want 2", n)
		}
		for i := range locks {
			if left := v.ttl(strconv.Itoa(i)); left < lease*9/10 {
				t.Fatalf("lock %d has %v left", i, left)
			}
		}
	})
}
