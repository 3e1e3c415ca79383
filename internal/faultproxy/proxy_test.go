package faultproxy_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Without rules the proxy must not be noticed, in either protocol.
func TestTransparent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", protocol), func(t *testing.T) {
			rdb := r.client(t, func(o *redis.Options) { o.Protocol = protocol })
			ctx := t.Context()
			r.Do(t, "FLUSHALL")

			cmds, err := rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
				for i := range 1000 {
					p.HSet(ctx, "h", fmt.Sprint(i), strings.Repeat("v", i))
				}
				return nil
			})
			if err != nil || len(cmds) != 1000 {
				t.Fatalf("pipeline: %d replies, %v", len(cmds), err)
			}
			h, err := rdb.HGetAll(ctx, "h").Result() // a map in RESP3
			if err != nil || len(h) != 1000 || len(h["999"]) != 999 {
				t.Fatalf("HGETALL: %d fields, %v", len(h), err)
			}
			if err := rdb.Get(ctx, "none").Err(); !errors.Is(err, redis.Nil) {
				t.Fatalf("GET of nothing: %v", err)
			}
			if err := rdb.Get(ctx, "h").Err(); err == nil || !strings.HasPrefix(err.Error(), "WRONGTYPE") {
				t.Fatalf("GET of a hash: %v", err)
			}
			blob := strings.Repeat("\r\n$*\x00", 20000)
			if got := rdb.Set(ctx, "b", blob, 0).Err(); got != nil {
				t.Fatal(got)
			}
			if rdb.Get(ctx, "b").Val() != blob {
				t.Fatal("binary data came back changed")
			}
			nested := rdb.Eval(ctx, `return {1, {2, {'x', false}}, 'y'}`, nil).Val()
			if got := fmt.Sprint(nested); got != "[1 [2 [x <nil>]] y]" {
				t.Fatalf("nested reply: %s", got)
			}
			if _, err := rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
				return p.Incr(ctx, "n").Err()
			}); err != nil {
				t.Fatalf("MULTI: %v", err)
			}
		})
	}
}

func TestSubscription(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", protocol), func(t *testing.T) {
			rdb := r.client(t, func(o *redis.Options) { o.Protocol = protocol })
			sub := rdb.Subscribe(t.Context(), "a", "b")
			defer sub.Close()
			for range 2 {
				if _, err := sub.ReceiveTimeout(t.Context(), 5*time.Second); err != nil {
					t.Fatal(err)
				}
			}
			if err := sub.Subscribe(t.Context(), "c"); err != nil {
				t.Fatal(err)
			}
			if _, err := sub.ReceiveTimeout(t.Context(), 5*time.Second); err != nil {
				t.Fatal(err)
			}
			for _, ch := range []string{"a", "b", "c"} {
				r.Do(t, "PUBLISH", ch, "to "+ch)
				msg, err := sub.ReceiveMessage(t.Context())
				if err != nil || msg.Channel != ch || msg.Payload != "to "+ch {
					t.Fatalf("%v, %v", msg, err)
				}
			}
		})
	}
}

func TestRefuse(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	old := r.client(t, noRetry)
	warm(t, old)
	fresh := r.client(t, noRetry, func(o *redis.Options) { o.DialerRetries = 1 })

	r.proxy.Refuse(true)
	if err := fresh.Ping(t.Context()).Err(); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Fatalf("new connection: %v", err)
	}
	if err := old.Ping(t.Context()).Err(); err != nil {
		t.Fatalf("open connection: %v", err)
	}
	r.proxy.Refuse(false)
	warm(t, fresh)
}

// Clients that keep connecting while the proxy is cut off: none slips through.
func TestRefuseAndCloseAllLeaveNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var mu sync.Mutex
	var conns []net.Conn // guarded by mu
	var dialers sync.WaitGroup
	for range 4 {
		dialers.Go(func() {
			for {
				c, err := net.Dial("tcp", r.proxy.Addr())
				if err != nil {
					return
				}
				mu.Lock()
				conns = append(conns, c)
				mu.Unlock()
			}
		})
	}
	redistest.Eventually(t, 5*time.Second, "some connections", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(conns) >= 20
	})
	r.proxy.Refuse(true)
	r.proxy.CloseAll(faultproxy.Any)
	dialers.Wait()
	for _, c := range conns {
		c.SetReadDeadline(time.Now().Add(5 * time.Second))
		if _, err := c.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("a connection is still open")
		}
		c.Close()
	}
}

func TestServerDiesAndReturns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rdb := r.client(t, noRetry)
	warm(t, rdb)
	r.Kill()
	if err := rdb.Ping(t.Context()).Err(); err == nil {
		t.Fatal("a dead server answers")
	}
	r.Restart()
	warm(t, rdb)
}

// A proxy that closes has no way to leave a connection or goroutine behind;
// goleak checks the latter at the end.
func TestCloseWithOpenConnections(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	t.Run("proxy", func(t *testing.T) {
		p := faultproxy.Start(t, s.Addr())
		rdb := s.Client(t, func(o *redis.Options) { o.Addr = p.Addr() })
		warm(t, rdb)
		sub := rdb.Subscribe(t.Context(), "c")
		if _, err := sub.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { sub.Close() })
		p.Blackhole(true, true, faultproxy.Any)
	})
	redistest.Eventually(t, 5*time.Second, "the server has lost the proxy's connections", func() bool {
		return strings.Count(s.Do(t, "CLIENT", "LIST").(string), " addr=") == 1
	})
}

func TestDialer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rdb := r.Client(t, func(o *redis.Options) { o.Dialer = faultproxy.Dialer(r.proxy) })
	warm(t, rdb)
	if got := r.proxy.Commands("PING"); got != 1 {
		t.Fatalf("the proxy saw %d PINGs", got)
	}
}
