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
		case "SUBSCRIBE":
			for _, channel := range args {
				channels[channel] = true
			}
		case "PUBLISH":
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
			if len(keys) < 5 || len(channels) < 3 || !keys["shop:"+name] {
				t.Fatalf("keys %v, channels %v", keys, channels)
			}
			for key := range keys {
				if tag(key) != want {
					t.Errorf("%s: key %q is in the slot of %q, want %q", name, key, tag(key), want)
				}
			}
			rest := ":{shop:" + name + "}"
			if strings.Contains(name, "{") {
				rest = ":shop:" + name
			}
			common, listeners := "redisson_lock__channel"+rest, "redlatch_listeners"+rest
			if !channels[common] || !channels[listeners] {
				t.Errorf("%s: channels %v, want %q and %q", name, channels, common, listeners)
			}
			for channel := range channels {
				if ours := strings.HasPrefix(channel, common) || channel == listeners; tag(channel) != want || !ours {
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

// A connection that breaks leaves somebody waiting for ever: the waiter, or Close.
