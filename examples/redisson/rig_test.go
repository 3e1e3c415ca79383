//go:build interop

package redisson_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/lua"
	"github.com/redlatch/redlatch/reentrant"
)

const (
	// longLease is that of locks whose waiters must not need it: whoever is woken
	// within wokenWithin was woken by a message.
	longLease   = time.Minute
	wokenWithin = 500 * time.Millisecond

	// briskLease is Redisson's lockWatchdogTimeout where renewal is to be seen.
	briskLease = 1500 * time.Millisecond
)

// rig is one Redis with both sides on it, a server or a cluster.
type rig struct {
	server  *redistest.Server  // nil with a cluster
	cluster *redistest.Cluster // nil with a server
	java    *peer              // with Redisson's defaults
	brisk   *peer              // renews every briskLease / 3
}

func newRig(t testing.TB) *rig {
	s := redistest.Start(t)
	return &rig{
		server: s,
		java:   startPeer(t, s.Addr()),
		brisk:  startPeer(t, s.Addr(), "--watchdog", fmt.Sprint(briskLease.Milliseconds())),
	}
}

// TestRedisson has one Redis and two JVMs for all its cases, each of which uses
// locks of names of its own. At the end nothing may be left but what belongs there.
func TestRedisson(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		name string
		test func(*testing.T, *rig)
	}{
		{"Bytes", testBytes},
		{"Payloads", testPayloads},
		{"GoWakesJava", testGoWakesJava},
		{"JavaWakesGo", testJavaWakesGo},
		{"NestedCounts", testNestedCounts},
		{"Watchdogs", testWatchdogs},
		{"DefaultLeases", testDefaultLeases},
		{"LeaseExpiry", testLeaseExpiry},
		{"TimedWaits", testTimedWaits},
		{"ForceUnlock", testForceUnlock},
		{"Tokens", testTokens},
		{"Names", testNames},
		{"LatchKeys", testLatchKeys},
		{"OurKeys", testOurKeys},
		{"StoppedGoWaiter", testStoppedGoWaiter},
		{"MutualExclusion", testMutualExclusion},
		{"OtherKinds", testOtherKinds},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, r) })
	}
	t.Run("WhatIsLeft", func(t *testing.T) { r.wantClean(t) })
}

// client is another Go process as far as Redis can tell.
func (r *rig) client(t testing.TB, opts ...reentrant.Option) *reentrant.Client {
	t.Helper()
	return newClient(t, r.redis(t), opts...)
}

// redis is a client of go-redis.
func (r *rig) redis(t testing.TB) redis.UniversalClient {
	t.Helper()
	if r.cluster != nil {
		return r.cluster.Client(t)
	}
	return r.server.Client(t)
}

// at is the server that has the key.
func (r *rig) at(t testing.TB, key string) *redistest.Server {
	t.Helper()
	if r.cluster != nil {
		return r.cluster.Owner(t, key)
	}
	return r.server
}

// listening counts the subscribers of a channel.
func (r *rig) listening(t testing.TB, channel string) int64 {
	t.Helper()
	count := "NUMSUB"
	if r.cluster != nil {
		count = "SHARDNUMSUB"
	}
	return r.at(t, channel).Do(t, "PUBSUB", count, channel).([]any)[1].(int64)
}

func newClient(t testing.TB, rdb redis.UniversalClient, opts ...reentrant.Option) *reentrant.Client {
	t.Helper()
	c, err := reentrant.New(rdb, opts...)
	must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

// hash checks the lock's hash, as HGETALL and TYPE show it.
func (r *rig) hash(t testing.TB, name string, want map[string]string) {
	t.Helper()
	got, err := r.at(t, name).Admin().HGetAll(context.Background(), name).Result()
	must(t, err)
	if !maps.Equal(got, want) {
		t.Errorf("%s is %v, want %v", name, got, want)
	}
	kind := "hash"
	if len(want) == 0 {
		kind = "none"
	}
	if got := r.at(t, name).Do(t, "TYPE", name); got != kind {
		t.Errorf("%s is a %v, want %s", name, got, kind)
	}
}

// ttl checks that PTTL is at most want, and not far below.
func (r *rig) ttl(t testing.TB, key string, want time.Duration) {
	t.Helper()
	got := time.Duration(r.at(t, key).Do(t, "PTTL", key).(int64)) * time.Millisecond
	if got > want || got < want-5*time.Second || got <= 0 {
		t.Errorf("PTTL of %s is %v, want %v", key, got, want)
	}
}

// channel is the one on which the releases of a lock are told.
func channel(name string) string {
	if strings.Contains(name, "{") {
		return "redisson_lock__channel:" + name
	}
	return "redisson_lock__channel:{" + name + "}"
}

// waitUntilJavaWaits returns once n peers are subscribed to the lock's channel.
// Redisson tries once more after that; a release that comes between is no loss.
func (r *rig) waitUntilJavaWaits(t testing.TB, name string, n int64) {
	t.Helper()
	redistest.Eventually(t, 10*time.Second, "Redisson to subscribe to "+channel(name), func() bool {
		return r.listening(t, channel(name)) >= n
	})
}

// waitUntilGoWaits returns once the Client has subscribed and registered.
func (r *rig) waitUntilGoWaits(t testing.TB, name string, c *reentrant.Client) {
	t.Helper()
	waiters := lua.KeysOf(name, c.ID()).Waiters()
	redistest.Eventually(t, 10*time.Second, "the Go waiter to be registered", func() bool {
		return r.at(t, name).Admin().ZScore(context.Background(), waiters, c.ID()).Err() == nil
	})
}

// listen records what is published about the locks whose names match the pattern. A
// subscription by a pattern does not count as one of a channel.
func (r *rig) listen(t testing.TB, name string) <-chan *redis.Message {
	t.Helper()
	sub := r.server.Client(t).PSubscribe(context.Background(), channel(name))
	t.Cleanup(func() { sub.Close() })
	_, err := sub.Receive(context.Background())
	must(t, err)
	return sub.Channel()
}

// wantClean checks that nothing is left of the locks: only token counters, which
// Redisson keeps for ever too, and keys that go away by themselves.
func (r *rig) wantClean(t testing.TB) {
	t.Helper()
	for _, server := range r.servers() {
		for _, key := range server.Do(t, "KEYS", "*").([]any) {
			key := key.(string)
			if strings.HasPrefix(key, "redisson_lock_token:") {
				continue
			}
			if left := server.Do(t, "PTTL", key).(int64); left == -1 {
				t.Errorf("left behind without a TTL: %s, a %v", key, server.Do(t, "TYPE", key))
			} else {
				t.Logf("left behind for %d ms: %s", left, key)
			}
		}
		kinds := []string{"CHANNELS"}
		if redistest.AtLeast(t, "7.0") {
			kinds = append(kinds, "SHARDCHANNELS")
		}
		for _, kind := range kinds {
			redistest.Eventually(t, 10*time.Second, "all subscriptions to end", func() bool {
				return len(server.Do(t, "PUBSUB", kind).([]any)) == 0
			})
		}
	}
}

func (r *rig) servers() []*redistest.Server {
	if r.cluster != nil {
		return r.cluster.Nodes
	}
	return []*redistest.Server{r.server}
}

// begin runs f on a goroutine and returns where its error, and when it ended, will be.
func begin(f func() error) <-chan answer {
	a := make(chan answer, 1)
	go func() {
		err := f()
		a <- answer{err: err, at: time.Now()}
	}()
	return a
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
