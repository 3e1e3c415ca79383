package oracle_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/oracle"
	"github.com/redlatch/redlatch/internal/redistest"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb := s.Client(t)
	find := func() string {
		t.Helper()
		found, err := oracle.Keys(t.Context(), rdb, "lock", "other")
		if err != nil {
			t.Fatal(err)
		}
		var text []string
		for _, v := range found {
			text = append(text, v.Lock+" "+v.Text)
		}
		return strings.Join(text, ", ")
	}
	s.Do(t, "SET", "redisson_lock_token:{lock}", 7)
	s.Do(t, "SET", "redlatch_epoch:{lock}:me", 7, "PX", 60_000)
	if found := find(); found != "" {
		t.Errorf("found %s, but the counter is meant to last and the epoch has a TTL", found)
	}
	s.Do(t, "SET", "redlatch_turn:{lock}", 7)
	if found := find(); found != " redlatch_turn:{lock} has no TTL" {
		t.Errorf("found %q of a key without a TTL", found)
	}
	s.Do(t, "DEL", "redlatch_turn:{lock}")
	s.Do(t, "HSET", "lock", "me", 1)
	s.Do(t, "PEXPIRE", "lock", 60_000)
	if found := find(); !strings.HasPrefix(found, "lock is still there") {
		t.Errorf("found %q of a lock that was left", found)
	}
}

func TestChannels(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb := s.Client(t)
	ways := []func(context.Context, ...string) *redis.PubSub{rdb.Subscribe}
	if redistest.AtLeast(t, "7.0") {
		ways = append(ways, rdb.SSubscribe)
	}
	for _, subscribe := range ways {
		sub := subscribe(t.Context(), "c")
		if _, err := sub.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		found, err := oracle.Channels(t.Context(), rdb)
		if err != nil || len(found) != 1 {
			t.Errorf("found %v, %v while somebody listens", found, err)
		}
		sub.Close()
		redistest.Eventually(t, 10*time.Second, "nobody listens", func() bool {
			found, err := oracle.Channels(t.Context(), rdb)
			return err == nil && len(found) == 0
		})
	}
}

func TestConnections(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	look := s.Client(t)
	named := s.Client(t, func(o *redis.Options) { o.ClientName = "me" })
	if err := named.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	find := func(most int) int {
		t.Helper()
		found, err := oracle.Connections(t.Context(), look, "me", most)
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	if find(1) != 0 || find(0) != 1 {
		t.Errorf("found %d above 1 and %d above 0, of one connection", find(1), find(0))
	}
	named.Close()
	redistest.Eventually(t, 10*time.Second, "the connection is gone", func() bool { return find(0) == 0 })
}

func TestGoroutines(t *testing.T) {
	t.Parallel()
	const here = "github.com/redlatch/redlatch/internal/oracle_test"
	stop, started := make(chan struct{}), make(chan struct{})
	go func() { // ends with stop
		close(started)
		<-stop
	}()
	<-started
	// This goroutine is one of them.
	if found := oracle.Goroutines(1, here); names(found) != "goroutines" {
		t.Errorf("found %v, and one is left", found)
	}
	close(stop)
	if found := oracle.Goroutines(0, "github.com/redlatch/redlatch/nowhere"); len(found) > 0 {
		t.Errorf("found %v of a package that is not there", found)
	}
}
