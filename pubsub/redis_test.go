package pubsub_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/pubsub"
)

// onRedis runs f with a hub on a server of its own, once for each protocol.
func onRedis(t *testing.T, cfg pubsub.Config, f func(t *testing.T, hub *pubsub.Hub, admin *redis.Client)) {
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprint("RESP", protocol), func(t *testing.T) {
			addr, admin := startRedis(t)
			client := redis.NewClient(&redis.Options{Addr: addr, Protocol: protocol})
			defer client.Close()
			hub := pubsub.NewHub(client, cfg)
			defer closeHub(t, hub)
			f(t, hub, admin)
		})
	}
}

func TestRedisDelivers(t *testing.T) {
	cfg := pubsub.Config{PingInterval: 20 * time.Millisecond} // so that there are PINGs, too
	onRedis(t, cfg, func(t *testing.T, hub *pubsub.Hub, admin *redis.Client) {
		const n = 5000
		var one, two recorder
		hub.Listen("a", one.listen)
		hub.Listen("a", two.listen)
		eventually(t, "both are subscribed", func() bool {
			return one.count(pubsub.Subscribed)+two.count(pubsub.Subscribed) == 2
		})
		for i := range n {
			if got := admin.Publish(t.Context(), "a", i).Val(); got != 1 {
				t.Fatalf("message %d reached %d connections, want 1", i, got)
			}
		}
		for _, r := range []*recorder{&one, &two} {
			eventually(t, "all messages have come", func() bool { return r.count(pubsub.Message) == n })
			for i, ev := range r.take()[1:] {
				if ev != message("a", fmt.Sprint(i)) {
					t.Fatalf("message %d is %v", i, ev)
				}
			}
		}
	})
}

func TestFault12RedisKillsTheConnection(t *testing.T) {
	var reconnects atomic.Int32
	cfg := pubsub.Config{OnReconnect: func(error) { reconnects.Add(1) }}
	onRedis(t, cfg, func(t *testing.T, hub *pubsub.Hub, admin *redis.Client) {
		reconnects.Store(0)
		listeners := make([]recorder, 2000)
		for i := range listeners {
			hub.Listen(fmt.Sprint("c", i/2), listeners[i].listen)
		}
		all := func(kind pubsub.Kind) func() bool {
			return func() bool {
				for i := range listeners {
					if listeners[i].count(kind) == 0 {
						return false
					}
				}
				return true
			}
		}
		eventually(t, "all are subscribed", all(pubsub.Subscribed))
		for round := range int32(10) {
			for i := range listeners {
				listeners[i].take()
			}
			start := time.Now()
			if n := admin.ClientKillByFilter(t.Context(), "TYPE", "pubsub").Val(); n != 1 {
				t.Fatalf("killed %d connections, want 1", n)
			}
			eventually(t, "all are resubscribed", all(pubsub.Resubscribed))
			// At most 160ms are the backoff.
			if d := time.Since(start); d > 3*time.Second {
				t.Errorf("resubscribed after %v", d)
			}
			eventually(t, "OnReconnect was called", func() bool { return reconnects.Load() == round+1 })
			eventually(t, "one connection is left", func() bool { return pubsubClients(t, admin) == 1 })
		}
		if n := channels(t, admin); n != 1000 || hub.Channels() != 1000 {
			t.Errorf("server has %d channels, hub %d, want 1000", n, hub.Channels())
		}
	})
}

func TestFault51RedisChurn(t *testing.T) {
	cfg := pubsub.Config{Linger: 50 * time.Millisecond}
	onRedis(t, cfg, func(t *testing.T, hub *pubsub.Hub, admin *redis.Client) {
		var kept recorder
		alive := hub.Listen("kept", kept.listen)
		eventually(t, "subscribed", func() bool { return kept.count(pubsub.Subscribed) == 1 })
		var failed atomic.Int32
		var wg sync.WaitGroup
		for g := range uint64(16) {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(1, g))
				for range 500 {
					name := fmt.Sprint("c", rng.IntN(2000))
					confirmed := make(chan struct{}, 1)
					sub := hub.Listen(name, func(ev pubsub.Event) {
						select {
						case confirmed <- struct{}{}:
						default:
						}
					})
					if rng.IntN(4) > 0 {
						select {
						case <-confirmed:
						case <-time.After(20 * time.Second):
							failed.Add(1)
						}
					}
					sub.Close()
				}
			})
		}
		// All of them are served by one connection.
		finished := make(chan struct{})
		go func() { wg.Wait(); close(finished) }()
		for done := false; !done; {
			if n := pubsubClients(t, admin); n != 1 {
				t.Errorf("%d connections, want 1", n)
			}
			select {
			case <-finished:
				done = true
			default:
			}
		}
		alive.Close()
		if n := failed.Load(); n > 0 {
			t.Errorf("%d listeners were not confirmed", n)
		}
		eventually(t, "everything is unsubscribed and closed", func() bool {
			return channels(t, admin) == 0 && pubsubClients(t, admin) == 0 && hub.Channels() == 0
		})
	})
}

// The server drops a subscriber that cannot keep up. Its listeners learn that
// they may have missed something, and hear what comes afterwards.
func TestFault52RedisDropsASlowSubscriber(t *testing.T) {
	onRedis(t, pubsub.Config{}, func(t *testing.T, hub *pubsub.Hub, admin *redis.Client) {
		if err := admin.ConfigSet(t.Context(), "client-output-buffer-limit", "pubsub 1mb 1mb 1").Err(); err != nil {
			t.Fatal(err)
		}
		release := make(chan struct{})
		var r recorder
		hub.Listen("a", func(ev pubsub.Event) {
			if ev.Kind == pubsub.Message {
				<-release // against the rules, to be slow
			}
			r.listen(ev)
		})
		eventually(t, "subscribed", func() bool { return r.count(pubsub.Subscribed) == 1 })
		payload := strings.Repeat("x", 100_000)
		eventually(t, "the server gives up", func() bool {
			return admin.Publish(t.Context(), "a", payload).Val() == 0
		})
		close(release)
		eventually(t, "resubscribed", func() bool { return r.count(pubsub.Resubscribed) == 1 })
		before := r.count(pubsub.Message)
		admin.Publish(t.Context(), "a", "late")
		eventually(t, "the message has come", func() bool { return r.count(pubsub.Message) == before+1 })
	})
}

func TestRedisRefuses(t *testing.T) {
	redistest.Needs(t, "6.2", "ACL rules for channels")
	addr, admin := startRedis(t)
	ctx := t.Context()
	acl := func(rules ...any) {
		if err := admin.Do(ctx, append([]any{"ACL", "SETUSER", "u", "on", ">p"}, rules...)...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	acl("+@all", "-ping", "~*", "resetchannels", "&allowed*")
	client := redis.NewClient(&redis.Options{Addr: addr, Username: "u", Password: "p"})
	defer client.Close()
	hub := pubsub.NewHub(client, pubsub.Config{
		PingInterval: 20 * time.Millisecond, MinBackoff: 50 * time.Millisecond, MaxBackoff: 100 * time.Millisecond,
	})
	defer closeHub(t, hub)

	// PING is refused, which is no reason to give the connection up.
	var allowed recorder
	sub := hub.Listen("allowed", allowed.listen)
	eventually(t, "five PINGs were refused", func() bool {
		log, err := admin.ACLLog(ctx, 1).Result()
		return err == nil && len(log) == 1 && log[0].Count >= 5
	})
	wantEvents(t, &allowed, subscribed("allowed"))
	sub.Close()

	// A channel is refused: tried again, in measure.
	start := time.Now()
	if err := admin.Do(ctx, "ACL", "LOG", "RESET").Err(); err != nil {
		t.Fatal(err)
	}
	var refused recorder
	sub = hub.Listen("forbidden", refused.listen)
	eventually(t, "five SUBSCRIBEs were refused", func() bool {
		log, err := admin.ACLLog(ctx, 10).Result()
		if err != nil {
			return false
		}
		for _, entry := range log {
			if entry.Object == "forbidden" && entry.Count >= 5 {
				return true
			}
		}
		return false
	})
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("five attempts took %v", d)
	}
	wantEvents(t, &refused)
	if sub.Confirmed() {
		t.Error("confirmed")
	}
	acl("&*")
	eventually(t, "subscribed", func() bool { return refused.count(pubsub.Subscribed) == 1 })
}
