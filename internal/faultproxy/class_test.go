package faultproxy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/redistest"
)

// subscribe returns a subscription to c that is confirmed.
func subscribe(t *testing.T, rdb *redis.Client) *redis.PubSub {
	t.Helper()
	sub := rdb.Subscribe(t.Context(), "c")
	t.Cleanup(func() { sub.Close() })
	if _, err := sub.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	return sub
}

func TestBlackholePubSubOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rdb := r.client(t)
	sub := subscribe(t, rdb)

	r.proxy.Blackhole(true, true, faultproxy.PubSub)
	if n := r.Do(t, "PUBLISH", "c", "lost?"); n != int64(1) {
		t.Fatalf("PUBLISH reached %v: the server must not notice", n)
	}
	if msg, err := sub.ReceiveTimeout(t.Context(), 50*time.Millisecond); err == nil {
		t.Fatalf("received %v", msg)
	}
	warm(t, rdb) // commands go on

	r.proxy.Heal()
	msg, err := sub.ReceiveTimeout(t.Context(), 5*time.Second)
	if m, ok := msg.(*redis.Message); err != nil || !ok || m.Payload != "lost?" {
		t.Fatalf("after Heal: %v, %v", msg, err)
	}
}

// Upstream: the request is stuck and executed at Heal, though its client is gone.
func TestBlackholeUpstream(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rdb := r.client(t, noRetry, impatient)
	warm(t, rdb)
	r.proxy.Blackhole(true, false, faultproxy.Command)
	if err := rdb.Incr(t.Context(), "n").Err(); err == nil {
		t.Fatal("answered")
	}
	if got := r.Do(t, "GET", "n"); got != nil {
		t.Fatalf("n = %v: the server has seen the request", got)
	}
	r.proxy.Heal()
	redistest.Eventually(t, 5*time.Second, "the late INCR is executed", func() bool {
		return r.Do(t, "GET", "n") == "1"
	})
}

// Downstream: the request is executed and the client does not learn it, not even
// that the server has died.
func TestBlackholeDownstream(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rdb := r.client(t, noRetry, impatient)
	warm(t, rdb)
	r.proxy.Blackhole(false, true, faultproxy.Any)
	if err := rdb.Incr(t.Context(), "n").Err(); err == nil {
		t.Fatal("answered")
	}
	if got := r.Do(t, "GET", "n"); got != "1" {
		t.Fatalf("n = %v", got)
	}
	r.proxy.Heal()
	sub := subscribe(t, rdb)
	r.proxy.Blackhole(false, true, faultproxy.PubSub)
	r.Kill()
	_, err := sub.ReceiveTimeout(t.Context(), 50*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Fatalf("a half-open connection gave %v", err)
	}
	if err := sub.Ping(t.Context()); err != nil {
		t.Fatalf("writing to a half-open connection: %v", err)
	}
	if _, err := sub.ReceiveTimeout(t.Context(), 50*time.Millisecond); err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Fatalf("after a write, a half-open connection gave %v", err)
	}
	r.proxy.Heal()
	if _, err := sub.ReceiveTimeout(t.Context(), 5*time.Second); err == nil || strings.Contains(err.Error(), "timeout") {
		t.Fatalf("after Heal the end of the connection must show: %v", err)
	}
}

func TestCloseAllOfClass(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rdb := r.client(t, noRetry, func(o *redis.Options) { o.PoolSize = 1 })
	sub := subscribe(t, rdb)
	id := rdb.ClientID(t.Context()).Val()

	r.proxy.CloseAll(faultproxy.PubSub)
	if _, err := sub.ReceiveTimeout(t.Context(), 5*time.Second); err == nil {
		t.Fatal("no error on a closed subscription")
	}
	if got := rdb.ClientID(t.Context()).Val(); got != id {
		t.Fatalf("the command connection was replaced: %d, then %d", id, got)
	}
	r.proxy.CloseAll(faultproxy.Command)
	if got, err := rdb.ClientID(t.Context()).Result(); err == nil && got == id {
		t.Fatal("the command connection survived")
	}
}

// Rules of class PubSub see the request that subscribes, and the replies to it.
func TestRulesOnPubSub(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		action     faultproxy.Action
		subscribed int64
	}{
		{"DropBefore", faultproxy.DropBefore, 0},
		{"SwallowRequest", faultproxy.SwallowRequest, 0},
		{"SwallowReply", faultproxy.SwallowReply, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			rdb := r.client(t)
			h := r.proxy.Add(faultproxy.Rule{Class: faultproxy.PubSub, Action: c.action})
			warm(t, rdb) // class Command: not picked
			sub := rdb.Subscribe(t.Context(), "c")
			defer sub.Close()
			if _, err := sub.ReceiveTimeout(t.Context(), 50*time.Millisecond); err == nil {
				t.Fatal("confirmed")
			}
			if got := r.Do(t, "PUBSUB", "NUMSUB", "c").([]any)[1]; got != c.subscribed {
				t.Errorf("%v subscribers, want %d", got, c.subscribed)
			}
			if h.Hits() == 0 { // go-redis may have subscribed anew, in vain
				t.Error("no hits")
			}
		})
	}
}

// A message between a request and its confirmation is not taken for the reply.
func TestDropAfterOnSecondSubscribe(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	sub := subscribe(t, r.client(t))
	r.proxy.Add(faultproxy.Rule{
		Class:  faultproxy.PubSub,
		Match:  func(args []string) bool { return len(args) > 1 && args[1] == "d" },
		Times:  1,
		Action: faultproxy.DropAfter,
	})
	r.Do(t, "PUBLISH", "c", "first")
	if err := sub.Subscribe(t.Context(), "d"); err != nil {
		t.Fatal(err)
	}
	msg, err := sub.ReceiveTimeout(t.Context(), 5*time.Second)
	if m, ok := msg.(*redis.Message); err != nil || !ok || m.Payload != "first" {
		t.Fatalf("%v, %v", msg, err)
	}
	if msg, err := sub.ReceiveTimeout(t.Context(), 5*time.Second); err == nil {
		t.Fatalf("%v instead of an end", msg)
	}
}
