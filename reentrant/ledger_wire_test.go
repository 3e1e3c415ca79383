package reentrant_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// The logger that was given is never used; an error has "%!w(<nil>)" for its reason.
func TestLedger_04_LoggerAndReason(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		n := newNotebook(slog.LevelDebug)
		holder := v.client(reentrant.WithLogger(slog.New(n))).NewLock("job")
		must(t, holder.Lock(v.ctx))
		if lines, _ := n.take(); len(lines) == 0 {
			t.Error("nothing was logged")
		}
		ctx, cancel := context.WithTimeout(v.ctx, time.Second)
		defer cancel()
		err := v.client().NewLock("job").Lock(ctx)
		if err == nil || errors.Unwrap(err) == nil || strings.Contains(err.Error(), "%!") || strings.Contains(err.Error(), "nil") {
			t.Errorf("%q", err)
		}
		_, err = v.client().NewLock("job").Acquire(v.ctx, reentrant.WithWait(time.Second))
		if err == nil || strings.Contains(err.Error(), "%!") || strings.Contains(err.Error(), "nil") {
			t.Errorf("%q", err)
		}
	})
}

// traffic is what a contended life of a lock uses of Redis: keys of scripts and
// channels.
func traffic(t *testing.T, v *virtual, name string, opts ...reentrant.Option) (keys, channels map[string]bool) {
	keys, channels = make(map[string]bool), make(map[string]bool)
	var mu sync.Mutex
	v.onCommand(func(cmd string, args []string) string {
		mu.Lock()
		defer mu.Unlock()
		switch cmd {
		case "EVALSHA", "EVAL":
			n, err := strconv.Atoi(args[1])
			if err != nil {
				t.Errorf("%s %q", cmd, args)
			}
			for _, key := range args[2 : 2+n] {
				keys[key] = true
			}
		case "SUBSCRIBE", "PUBLISH":
			channels[args[0]] = true
		}
		return ""
	})
	holder := v.client(opts...).NewLock(name, reentrant.WithFencing())
	must(t, holder.Lock(v.ctx))
	must(t, holder.Lock(v.ctx))
	must(t, holder.Unlock(v.ctx))
	c := v.client(opts...)
	var waiters []*pending
	for range 2 {
		waiters = append(waiters, begin(func() error {
			return c.NewLock(name, reentrant.WithFencing()).Do(v.ctx, func(context.Context) error { return nil })
		}))
	}
	gone, leave := context.WithCancel(v.ctx)
	quitter := begin(func() error { return v.client(opts...).NewLock(name).Lock(gone) })
	v.pass(lease)
	leave()
	quitter.wait()
	if _, err := holder.ForceUnlock(v.ctx); err != nil {
		t.Error(err)
	}
	for _, w := range waiters {
		must(t, w.wait())
	}
	synctest.Wait()
	v.onCommand(nil)
	return keys, channels
}

// The lock and its channel have no hash tag in common: CROSSSLOT in a cluster. Or
// all channels have the same one, and all locks wake each other.
func TestLedger_10_KeysAndChannelsOfOneLock(t *testing.T) {
	tag := func(key string) string {
		if _, after, ok := strings.Cut(key, "{"); ok {
			if tag, _, ok := strings.Cut(after, "}"); ok && tag != "" {
				return tag
			}
		}
		return key
	}
	seen := make(map[string]string) // channel -> lock
	for name, want := range map[string]string{"job": "shop:job", "order:{42}:pay": "42", "order:{43}:pay": "43", "bill:{42}:pay": "42"} {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			keys, channels := traffic(t, v, name, reentrant.WithPrefix("shop:"))
			if len(keys) < 5 || len(channels) < 2 || !keys["shop:"+name] {
				t.Fatalf("keys %v, channels %v", keys, channels)
			}
			for key := range keys {
				if tag(key) != want {
					t.Errorf("%s: key %q is in the slot of %q, want %q", name, key, tag(key), want)
				}
			}
			common := "redisson_lock__channel:{shop:" + name + "}"
			if strings.Contains(name, "{") {
				common = "redisson_lock__channel:shop:" + name
			}
			if !channels[common] {
				t.Errorf("%s: channels %v, want %q", name, channels, common)
			}
			for channel := range channels {
				if tag(channel) != want || !strings.HasPrefix(channel, common) {
					t.Errorf("%s: channel %q", name, channel)
				}
				if other, ok := seen[channel]; ok {
					t.Errorf("%q is the channel of %s and of %s", channel, name, other)
				}
				seen[channel] = name
			}
		})
	}
}

// Every Lock subscribes first: a connection and three commands more, for nothing.
func TestLedger_11_UncontendedLockIsTwoCommands(t *testing.T) {
	s := redistest.Start(t)
	c := newClient(t, s.Client(t))
	l := c.NewLock("job")
	ctx := context.Background()
	cycle := func() {
		must(t, l.Lock(ctx))
		must(t, l.Unlock(ctx))
	}
	cycle() // loads the scripts, opens the connection
	connections := s.Info(t, "stats", "total_connections_received")
	s.Do(t, "CONFIG", "RESETSTAT")
	const cycles = 50
	for range cycles {
		cycle()
	}
	if got, _, _ := strings.Cut(s.Info(t, "commandstats", "cmdstat_evalsha"), ","); got != "calls=100" {
		t.Errorf("EVALSHA: %s for %d cycles, want 2 each", got, cycles)
	}
	for _, none := range []string{"eval", "subscribe", "ssubscribe", "psubscribe", "hello", "script|load", "ping"} {
		if got := s.Info(t, "commandstats", "cmdstat_"+none); got != "" {
			t.Errorf("%s: %s", none, got)
		}
	}
	if got := s.Info(t, "stats", "total_connections_received"); got != "0" {
		t.Errorf("%s new connections, %s before", got, connections)
	}
	if got := c.Stats().Subscriptions; got != 0 {
		t.Errorf("%d subscriptions", got)
	}
}

// The script's hash is cached for good: after a restart, a failover or SCRIPT FLUSH
// every call fails for ever.
func TestLedger_16_ScriptFlush(t *testing.T) {
	test := func(t *testing.T, rdb *redis.Client, c, other *reentrant.Client) {
		ctx := context.Background()
		l := c.NewLock("job", reentrant.WithFencing())
		for what, call := range map[string]func() error{
			"lock and unlock": func() error {
				return errors.Join(l.Lock(ctx), rdb.ScriptFlush(ctx).Err(), l.Unlock(ctx))
			},
			"re-entry": func() error {
				return errors.Join(l.Lock(ctx), rdb.ScriptFlush(ctx).Err(), l.Lock(ctx), rdb.ScriptFlush(ctx).Err(), l.Unlock(ctx), l.Unlock(ctx))
			},
			"force and queries": func() error {
				must(t, l.Lock(ctx))
				must(t, rdb.ScriptFlush(ctx).Err())
				_, err := other.NewLock("job").TTL(ctx)
				freed, err2 := other.NewLock("job").ForceUnlock(ctx)
				if !freed {
					err2 = errors.New("not freed")
				}
				if e := l.Unlock(ctx); !errors.Is(e, reentrant.ErrLost) {
					t.Errorf("Unlock after ForceUnlock: %v", e)
				}
				return errors.Join(err, err2)
			},
			"busy, hand-over and wake-up": func() error {
				must(t, l.Lock(ctx))
				must(t, rdb.ScriptFlush(ctx).Err())
				if ok, err := other.NewLock("job").TryLock(ctx, 0, 0); ok || err != nil {
					t.Errorf("TryLock = %v, %v", ok, err)
				}
				var waiters []*pending
				for _, client := range []*reentrant.Client{c, c, other} {
					waiters = append(waiters, begin(func() error {
						return client.NewLock("job", reentrant.WithFencing()).Do(ctx, func(context.Context) error {
							return rdb.ScriptFlush(ctx).Err()
						})
					}))
				}
				must(t, rdb.ScriptFlush(ctx).Err())
				errs := []error{l.Unlock(ctx)}
				for _, w := range waiters {
					errs = append(errs, w.wait())
				}
				return errors.Join(errs...)
			},
		} {
			must(t, rdb.ScriptFlush(ctx).Err())
			if err := call(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	t.Run("server", func(t *testing.T) {
		s := redistest.Start(t)
		test(t, s.Client(t), newClient(t, s.Client(t)), newClient(t, s.Client(t)))
	})
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		rdb := redistest.MiniClient(t, v.mini)
		test(t, rdb, v.client(), v.client())
		// And renewal, whose script is sent by nobody's call.
		c := v.client()
		must(t, c.NewLock("renewed").Lock(v.ctx))
		for range 20 {
			must(t, rdb.ScriptFlush(v.ctx).Err())
			v.pass(lease / 4)
		}
		if s := c.Stats(); s.RenewFailures != 0 || s.Losses != 0 {
			t.Fatalf("stats %+v", s)
		}
	})
}

// A connection that breaks leaves somebody waiting for ever: the waiter, or Close.
func TestLedger_24_BrokenConnections(t *testing.T) {
	s := redistest.Start(t)
	ctx := context.Background()
	holder := newClient(t, s.Client(t)).NewLock("job")
	must(t, holder.Lock(ctx))
	resubscribed := make(chan struct{}, 100)
	c := newClient(t, s.Client(t), reentrant.WithEvents(reentrant.Events{
		Resubscribed: func(reentrant.Event) { resubscribed <- struct{}{} },
	}))
	waiter := begin(func() error { return c.NewLock("job").Lock(reentrant.WithOwner(ctx, "waiter")) })
	for range 5 {
		redistest.Eventually(t, 10*time.Second, "a subscription", func() bool { return s.Info(t, "stats", "pubsub_channels") != "0" })
		s.Do(t, "CLIENT", "KILL", "TYPE", "pubsub")
		s.Do(t, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
		<-resubscribed
	}
	if waiter.over() {
		t.Fatalf("two holders: %v", waiter.err)
	}
	must(t, holder.Unlock(ctx))
	must(t, waiter.wait())
	must(t, c.NewLock("job").Unlock(reentrant.WithOwner(ctx, "waiter")))
	must(t, c.Close(ctx))
}
