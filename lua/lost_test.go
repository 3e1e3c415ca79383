package lua_test

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/lua"
)

// executed is how often the server has run EVALSHA.
func executed(t *testing.T, r *rig) string {
	t.Helper()
	return r.real.Info(t, "commandstats", "cmdstat_evalsha")
}

// A reply is lost. The client has go-redis' default retries, and the script is
// run once all the same; the caller is told that nobody knows.
func TestLostReply(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		a.acquire(t, lua.Acquire{Owner: "1"}) // Redis knows the script now
		a.release(t, "1", lua.Order{})
		proxy := faultproxy.Start(t, r.real.Addr())
		rdb := redis.NewClient(&redis.Options{Addr: proxy.Addr()})
		defer rdb.Close()
		lose := proxy.Add(faultproxy.Rule{Match: faultproxy.Named("EVALSHA"), Times: 1, Action: faultproxy.DropAfter})
		defer lose.Remove()
		r.real.Do(t, "CONFIG", "RESETSTAT")

		_, err := a.fill(lua.Acquire{Owner: "1"}).Run(t.Context(), rdb, &a.keys)
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		wantOutcome(t, err, true, true)
		if n := proxy.Commands("EVALSHA"); n != 1 {
			t.Fatalf("sent %d times", n)
		}
		if got := executed(t, r); len(got) < 8 || got[:8] != "calls=1," {
			t.Fatalf("executed: %s", got)
		}
		r.wantHeld(t, "a:1", "1") // it ran: the caller must give this back
		a.p = rdb
		wantVerdict(t, "release", first(a.release(t, "1", a.marked())), lua.Done)
		r.wantFree(t)
	})
}

// The acquire is sent to a stopped server, its caller gives up, and so does the
// release for it: Redis executes both when it goes on, in whatever order. Either
// way nobody holds the lock in the end.
func TestLostInAStoppedServer(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, r *rig) {
		a := r.client("a")
		a.acquire(t, lua.Acquire{Owner: "1"})
		a.release(t, "1", lua.Order{})
		quick := r.real.Client(t, func(o *redis.Options) { o.ReadTimeout = 50 * time.Millisecond })
		if err := quick.Ping(t.Context()).Err(); err != nil { // connected
			t.Fatal(err)
		}
		r.real.Stop()
		late := lua.Acquire{Owner: "1", Order: a.next()}
		_, err := a.fill(late).Run(t.Context(), quick, &a.keys)
		var timeout net.Error
		if !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Error(err)
		}
		wantOutcome(t, err, true, true)

		var release sync.WaitGroup
		order := a.marked()
		release.Go(func() {
			v, set, err := lua.Release{Owner: "a:1", Order: order, Wake: a.wake}.Run(t.Context(), r.rdb, &a.keys)
			if err != nil || !set || v != lua.Done && v != lua.NotHeld {
				t.Error(v, set, err)
			}
		})
		r.real.Continue()
		release.Wait()
		redistest.Eventually(t, within, "the late acquire is executed", func() bool {
			got := executed(t, r)
			return len(got) > 8 && got[:8] == "calls=4,"
		})
		r.wantFree(t)
	})
}
